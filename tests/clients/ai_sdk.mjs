// The Vercel AI SDK drives a device by both forms of OpenAI's API. Its own agent loop, with a model that is scripted,
// drives one by MCP with its own client.

import assert from 'node:assert/strict';
import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

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
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const said = (content, unified) => ({ content, finishReason: { unified }, usage, warnings: [] });
const input = JSON.stringify({ path: 'Sdk3' });
const call = { type: 'tool-call', toolCallId: '1', toolName: 'create_directory', input };
const model = new MockLanguageModelV3({
  doGenerate: [said([call], 'tool-calls'), said([{ type: 'text', text: 'Made.' }], 'stop')],
});
const agent = await generateText({
  model, tools: await mcp.tools(), prompt: 'make a folder Sdk3', stopWhen: stepCountIs(3),
});
assert.equal(agent.text, 'Made.');
const [made] = agent.steps[0].toolResults;
assert.equal(made.output.structuredContent.success, true, JSON.stringify(made));
const heard = JSON.stringify(model.doGenerateCalls[1].prompt);
assert.ok(heard.includes('Sdk3') && heard.includes('tool-result'), heard);
await mcp.close();
console.log('ok');
