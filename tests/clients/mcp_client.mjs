// MCP's clients for TypeScript, the second and the first line, drive a device.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const { ORION_URL, PROGRAM_TOKEN, ORION } = process.env;
const url = new URL(ORION_URL + '/mcp');
const requestInit = { headers: { authorization: `Bearer ${PROGRAM_TOKEN}` } };
const who = { name: 'orion-tests', version: '1' };

const client = new Client(who, {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: 'auto' },
});
client.setRequestHandler('elicitation/create', async ({ params }) => {
  const [, approval] = params.message.match(/orion approvals show ([0-9a-f-]+)/);
  execFileSync(ORION, ['approvals', 'approve', approval, '--yes'], { stdio: 'pipe' });
  return { action: 'accept', content: {} };
});
await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
assert.ok((await client.listTools()).tools.some((tool) => tool.name === 'create_directory'));
const made = await client.callTool({ name: 'create_directory', arguments: { path: 'NodeMcp1' } });
assert.equal(made.structuredContent.success, true);
const deleted = await client.callTool({ name: 'delete_file', arguments: { path: 'older.txt', confirm: true } });
assert.equal(deleted.structuredContent.success, true, JSON.stringify(deleted));
await client.close();

const stdio = new StdioClientTransport({ command: ORION, args: ['mcp'], env: process.env });
for (const [transport, path] of [[new OldTransport(url, { requestInit }), 'NodeMcp2'], [stdio, 'NodeMcp3']]) {
  const old = new OldClient(who);
  await old.connect(transport);
  assert.ok((await old.listTools()).tools.length > 10);
  const folder = await old.callTool({ name: 'create_directory', arguments: { path } });
  assert.equal(folder.structuredContent.success, true, JSON.stringify(folder));
  const { resources } = await old.listResources();
  assert.equal(resources[0].uri, 'orion://devices');
  await old.close();
}
console.log('ok');
