// The TypeScript SDK v1 client, with the interface that play.mjs expects.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema, CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const info = { name: 'peertest', version: '1.0.0' };
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };

export function openClient({ server, url, transport: kind, answer }) {
  const transport = server ? new StdioClientTransport(server)
    : kind === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
  const client = new Client(info, { capabilities });
  for (const schema of [ListRootsRequestSchema, CreateMessageRequestSchema, ElicitRequestSchema]) {
    client.setRequestHandler(schema, request => answer(request.method, request.params));
  }
  return {
    client,
    transport,
    connect: () => client.connect(transport),
    close: () => client.close(),
    call: (params, options) => client.callTool(params, undefined, options),
    // A tool that must run as a task: the stream polls it to its end. Which states the polls observe
    // depends on timing.
    async task(params) {
      let result;
      for await (const m of client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60000 } })) {
        if (m.type === 'error') throw m.error;
        if (m.type === 'result') result = m.result;
      }
      return result;
    },
    facts: () => ({
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }),
  };
}
