// A scripted model on the loopback address, for agents that need one to talk to: it speaks Anthropic's
// Messages and OpenAI's Responses, as streams, and plays the scene that the prompt names.
// Usage: node model.mjs; prints its URL once it listens, ends with its input.
//
// It keeps no state: a scene's next line is the one after as many tool results as the conversation
// holds. Whatever is asked outside of a scene (a title, a summary) gets one word.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const SCENES = {
  "scene-1": [["register", { actorId: "builder", kind: "claude-code", capabilities: ["build"] }]],
  "scene-2": [
    ["register", { actorId: "reviewer", kind: "codex", capabilities: ["review"] }],
    ["send", { from: "reviewer", to: "builder", text: "Is the candidate ready?", expectsReply: true }],
  ],
  "scene-3": [
    ["inbox", { actorId: "builder" }],
    ["ack", { actorId: "builder", messageId: "msg-0001", note: "Read." }],
    [
      "send",
      {
        from: "builder", to: "reviewer", text: "Please merge this.", correlationId: "cor-0001",
        requestedAuthority: ["report", "merge"],
      },
    ],
    [
      "handoff",
      { from: "builder", to: "reviewer", summary: "Ready; review only.", correlationId: "cor-0001" },
    ],
  ],
  "scene-4": [
    ["inbox", { actorId: "reviewer" }],
    ["ack", { actorId: "reviewer", messageId: "msg-0002", note: "No merge authority here." }],
    ["ack", { actorId: "reviewer", messageId: "msg-0003", note: "Taken over." }],
    ["heartbeat", { actorId: "reviewer" }],
  ],
};

// The next line of the scene that a conversation is in, or nothing.
function nextLine(conversation, resultType) {
  const text = JSON.stringify(conversation);
  const scene = Object.keys(SCENES).find((name) => text.includes(name));
  const results = text.split(`"type":"${resultType}"`).length - 1;
  return scene && SCENES[scene][results];
}

const event = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

function messages(request) {
  const tools = request.tools ?? [];
  const line = tools.length > 0 ? nextLine(request.messages, "tool_result") : undefined;
  const name = line && tools.find((tool) => tool.name.endsWith(`__${line[0]}`))?.name;
  const usage = { input_tokens: 1, output_tokens: 1 };
  const block = name
    ? { type: "tool_use", id: `toolu_${randomUUID()}`, name, input: {} }
    : { type: "text", text: "" };
  const delta = name
    ? { type: "input_json_delta", partial_json: JSON.stringify(line[1]) }
    : { type: "text_delta", text: "Done." };
  const stop_reason = name ? "tool_use" : "end_turn";
  const message = {
    id: `msg_${randomUUID()}`, type: "message", role: "assistant", model: request.model,
    content: [], stop_reason: null, stop_sequence: null, usage,
  };
  if (!request.stream) {
    const content = name ? { ...block, input: line[1] } : { ...block, text: "Done." };
    return JSON.stringify({ ...message, content: [content], stop_reason });
  }
  return [
    event("message_start", { message }),
    event("content_block_start", { index: 0, content_block: block }),
    event("content_block_delta", { index: 0, delta }),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage }),
    event("message_stop", {}),
  ].join("");
}

// Codex offers a server's tools either one by one or as one namespace of tools.
function findTool(tools, verb) {
  for (const tool of tools) {
    if (tool.type === "namespace" && tool.tools.some((inner) => inner.name === verb)) {
      return { namespace: tool.name, name: verb };
    }
    if (tool.name?.endsWith(`__${verb}`)) {
      return { name: tool.name };
    }
  }
}

function responses(request) {
  const line = nextLine(request.input, "function_call_output");
  const tool = line && findTool(request.tools ?? [], line[0]);
  const id = `call_${randomUUID()}`;
  const item = tool
    ? { type: "function_call", id, call_id: id, ...tool, arguments: JSON.stringify(line[1]) }
    : {
        type: "message", id, role: "assistant",
        content: [{ type: "output_text", text: "Done." }],
      };
  const usage = {
    input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null,
    total_tokens: 2,
  };
  return [
    event("response.created", { response: { id: "resp_scripted" } }),
    event("response.output_item.done", { item }),
    event("response.completed", { response: { id: "resp_scripted", usage } }),
  ].join("");
}

const http = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const path = new URL(request.url, "http://localhost").pathname;
    const play = { "/v1/messages": messages, "/v1/responses": responses }[path];
    if (request.method !== "POST" || !play) {
      response.writeHead(404, { "content-type": "application/json" }).end("{}");
      return;
    }
    const parsed = JSON.parse(body);
    const type = parsed.stream ? "text/event-stream" : "application/json";
    response.writeHead(200, { "content-type": type }).end(play(parsed));
  });
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
