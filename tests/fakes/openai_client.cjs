// Asks a mesh through the real openai-node, and prints what it made of the answer as one JSON line.
// argv: the folder that openai is installed in, the base URL, and {"body", "leave_after", "gather"}:
// leave after so many chunks, then stay alive until stdin ends; or let the library put the chunks
// of an answer together.
const path = require("node:path");

const [folder, baseURL, asked] = process.argv.slice(2);
const OpenAI = require(path.join(folder, "node_modules", "openai"));
const client = new OpenAI({ baseURL, apiKey: "unused", maxRetries: 0 });
const { body, leave_after: leaveAfter, gather } = JSON.parse(asked);

async function ask(heard) {
  if (!body.stream) {
    heard.answer = await client.chat.completions.create(body);
    heard.models = (await client.models.list()).data.map((model) => model.id);
  } else if (gather) {
    heard.answer = await client.chat.completions.stream(body).finalChatCompletion();
  } else {
    const stream = await client.chat.completions.create(body);
    for await (const chunk of stream) {
      heard.chunks.push(chunk);
      if (heard.chunks.length === leaveAfter) {
        stream.controller.abort();
        break;
      }
    }
  }
}

(async () => {
  const heard = { chunks: [], answer: null, models: null, error: null };
  try {
    await ask(heard);
  } catch (error) {
    const known = error instanceof OpenAI.APIError;
    heard.error = { known, status: error.status ?? null, message: String(error.message) };
  }
  process.stdout.write(JSON.stringify(heard) + "\n");
  if (leaveAfter) {
    process.stdin.resume();
    await new Promise((ended) => process.stdin.once("end", ended));
  }
  process.exit(0);
})();
