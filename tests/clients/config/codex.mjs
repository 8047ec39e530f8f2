// Asks `codex app-server` which MCP servers it has loaded, and prints each with its tools, one a line.
//
//   node codex.mjs CODEX
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const server = spawn(process.argv[2], ["app-server"], { stdio: ["pipe", "pipe", "ignore"] });
const say = (message) => server.stdin.write(JSON.stringify(message) + "\n");

say({ id: 1, method: "initialize", params: { clientInfo: { name: "gaia-bus", version: "0" } } });
for await (const line of createInterface({ input: server.stdout })) {
  const message = JSON.parse(line);
  if (message.id === 1) {
    say({ method: "initialized" });
    say({ id: 2, method: "mcpServerStatus/list", params: {} });
  }
  if (message.id === 2) {
    for (const { name, tools } of message.result.data) {
      console.log(`${name}: ${Object.keys(tools).sort().join(" ")}`);
    }
    break;
  }
}
server.stdin.end();
server.kill();
