// A server of the TypeScript SDK v1 that closes the event streams of its calls, so that the client resumes
// them, like the one in pollserver_test.go. It prints its URL.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

function newServer() {
  const server = new McpServer({ name: 'poller', version: '1.0.0' });
  const leave = async extra => {
    extra.closeSSEStream?.();
    await sleep(100); // enough for clients to come back
  };
  const text = text => ({ content: [{ type: 'text', text }] });
  server.registerTool('poll', {}, async extra => {
    const progressToken = extra._meta?.progressToken;
    if (progressToken === undefined) await leave(extra);
    for (let progress = 1; progress <= 3 && progressToken !== undefined; progress++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress } });
      if (progress < 3) await leave(extra);
    }
    return text('polled');
  });
  server.registerTool('question', {}, async extra => {
    await leave(extra);
    const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
    const r = await server.server.elicitInput({ message: 'Still there?', requestedSchema }, { relatedRequestId: extra.requestId });
    return text(`${r.action} ${r.content?.name}`);
  });
  return server;
}

const sessions = new Map();
const listener = createServer(async (req, res) => {
  let transport = sessions.get(req.headers['mcp-session-id']);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new InMemoryEventStore(),
      retryInterval: 20,
      onsessioninitialized: id => sessions.set(id, transport),
    });
    await newServer().connect(transport);
  }
  await transport.handleRequest(req, res);
});
listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
