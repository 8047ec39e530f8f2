// The TypeScript SDK of the handshake era. Usage: node sdk.mjs COMMAND [ARGUMENT...]
import { createRequire } from "node:module";
import { report } from "./session.mjs";

// The packages lie in the working directory, which need not be where this file is.
const require = createRequire(`${process.cwd()}/`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args, stderr: "inherit" });
let protocol = null;
transport.setProtocolVersion = (version) => (protocol = version);
const client = new Client({ name: "gaia-bus-test", version: "1.0.0" });
await client.connect(transport);
await report(client, () => ({ protocol }));
