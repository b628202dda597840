// OpenAI's client for JavaScript drives a device by both forms of the API, whole and streamed.

import assert from 'node:assert/strict';
import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: process.env.ORION_URL + '/v1',
  apiKey: process.env.PROGRAM_TOKEN,
  maxRetries: 0,
});
const said = (content) => [{ role: 'user', content }];

const models = await client.models.list();
assert.equal(models.data[0].id, 'orion');

const whole = await client.chat.completions.create({ model: 'orion', messages: said('make a folder Node1') });
assert.ok(whole.choices[0].message.content);
assert.equal(whole.orion.calls[0].state, 'succeeded');

let text = '';
const chunks = await client.chat.completions.create({
  model: 'orion', messages: said('make a folder Node2'), stream: true, stream_options: { include_usage: true },
});
for await (const chunk of chunks) text += chunk.choices[0]?.delta?.content ?? '';
assert.ok(text);

const response = await client.responses.create({ model: 'orion', input: 'make a folder Node3' });
assert.equal(response.status, 'completed');
assert.ok(response.output_text);
assert.ok(response.output.some((item) => item.type === 'mcp_call' && item.status === 'completed'));

const kinds = new Set();
const events = await client.responses.create({
  model: 'orion', input: 'make a folder Node4', previous_response_id: response.id, stream: true,
});
for await (const event of events) kinds.add(event.type);
assert.ok(kinds.has('response.mcp_call.completed') && kinds.has('response.completed'));

const final = await client.responses.stream({ model: 'orion', input: 'make a folder Node5' }).finalResponse();
assert.ok(final.output_text);

await assert.rejects(
  client.chat.completions.create({ model: 'none', messages: said('hello') }),
  (error) => error.status === 404 && error.code === 'model_not_found',
);
console.log('ok');
