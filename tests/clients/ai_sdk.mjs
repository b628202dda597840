// The Vercel AI SDK drives a device by both forms of OpenAI's API, and by MCP with its own client.

import assert from 'node:assert/strict';
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';

const { ORION_URL: url, PROGRAM_TOKEN: token } = process.env;
const orion = createOpenAI({ baseURL: url + '/v1', apiKey: token });

for (const [model, name] of [[orion.chat('orion'), 'Sdk1'], [orion.responses('orion'), 'Sdk2']]) {
  const whole = await generateText({ model, prompt: `make a folder ${name}`, maxRetries: 0 });
  assert.ok(whole.text, name);
  const streamed = streamText({ model, prompt: `make a folder ${name}Streamed`, maxRetries: 0 });
  let text = '';
  for await (const piece of streamed.textStream) text += piece;
  assert.ok(text, name);
}

const mcp = await createMCPClient({
  transport: { type: 'http', url: url + '/mcp', headers: { authorization: `Bearer ${token}` } },
});
const tools = await mcp.tools();
const made = await tools.create_directory.execute(
  { path: 'Sdk3' }, { toolCallId: '1', messages: [] },
);
assert.ok(!made.isError, JSON.stringify(made));
await mcp.close();
console.log('ok');
