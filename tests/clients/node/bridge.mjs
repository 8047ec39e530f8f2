// A raw bridge from HTTP to a server on standard input and output, for checkers that speak only
// HTTP. Usage: node bridge.mjs COMMAND [ARGUMENT...]; prints the URL once it listens, ends with its
// input.
//
// It forwards bodies as they are, one a line, and answers with the line that comes back; the server
// answers in order, so the next line is the answer. What HTTP adds of its own (which status goes
// with which error, that header and body agree, that a notification has no body) is all that is
// decided here.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = [];
createInterface({ input: child.stdout }).on("line", (line) => waiting.shift()?.(line));
child.on("exit", (code) => process.exit(code ?? 1));

// The statuses that the 2026-07-28 revision asks for; the older ones answer 200 throughout.
const STATUS = { "-32700": 400, "-32600": 400, "-32601": 404, "-32602": 400, "-32022": 400 };

function versionOf(message) {
  return message?.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
}

function isModern(message) {
  return versionOf(message) !== undefined || message?.method === "server/discover";
}

// A modern body and its header must name the same version.
function isMismatch(message, header) {
  return versionOf(message) !== undefined && header !== undefined && versionOf(message) !== header;
}

function hasAnswer(message) {
  return !(message && typeof message === "object" && !("id" in message) && "method" in message);
}

const http = createServer((request, response) => {
  if (request.method !== "POST") {
    response.writeHead(405).end();
    return;
  }
  let body = "";
  request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    let message;
    try {
      message = JSON.parse(body);
    } catch {}
    if (isMismatch(message, request.headers["mcp-protocol-version"])) {
      const error = { code: -32020, message: "the header names another version than the body" };
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id ?? null, error }));
      return;
    }
    child.stdin.write(`${body.replaceAll("\n", " ")}\n`);
    if (!hasAnswer(message)) {
      response.writeHead(202).end();
      return;
    }
    waiting.push((line) => {
      const code = JSON.parse(line).error?.code;
      const status = (isModern(message) && STATUS[code]) || 200;
      response.writeHead(status, { "content-type": "application/json" }).end(line);
    });
  });
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
process.stdin.on("end", () => child.stdin.end()).resume();
