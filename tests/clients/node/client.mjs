// The TypeScript client of both eras. Usage: node client.mjs legacy|auto COMMAND [ARGUMENT...]
import { createRequire } from "node:module";
import { report } from "./session.mjs";

// The packages lie in the working directory, which need not be where this file is.
const require = createRequire(`${process.cwd()}/`);
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const [mode, command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args, stderr: "inherit" });
const client = new Client(
  { name: "gaia-bus-test", version: "1.0.0" },
  { versionNegotiation: { mode } },
);
await client.connect(transport);
const protocol = client.getNegotiatedProtocolVersion();
await report(client, () => ({ protocol }));
