// What every Node client does once it is connected: list the tools, run the exchange of
// lesson.json, and report what came back. The Rust test judges the report; nothing is asserted
// here.
import { readFileSync } from "node:fs";

const exchange = JSON.parse(readFileSync(new URL("../lesson.json", import.meta.url), "utf8"));

export async function report(client, about) {
  const { tools } = await client.listTools();
  const calls = [];
  for (const [name, args] of exchange) {
    const result = await client.callTool({ name, arguments: args });
    calls.push({
      name,
      isError: result.isError === true,
      structuredContent: result.structuredContent ?? null,
      text: result.content.map((block) => block.text).join(""),
    });
  }
  const server = client.getServerVersion?.() ?? null;
  const instructions = client.getInstructions?.() ?? null;
  await client.close();
  console.log(JSON.stringify({ ...about(), server, instructions, tools, calls }));
}
