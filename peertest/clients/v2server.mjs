// A server of the TypeScript SDK v2, for both eras, with the tools of the Go server (goserver_test.go).
// Usage: node v2server.mjs [HOST:PORT]; without an address it serves on stdio.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { z } from 'zod';

const said = text => ({ content: [{ type: 'text', text }] });

let grown = false;
let changed = () => {}; // announces the change over HTTP, where each request has a server of its own

function makeServer() {
  const server = new McpServer({ name: 'peertest-ts', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  server.registerTool('echo', { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) }, async ({ text }) => said(text));
  server.registerTool('fail', { inputSchema: z.object({}) }, async () => { throw new Error('it failed: ✗'); });
  server.registerTool('steps', { inputSchema: z.object({}) }, async (_, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= 4; progress++) {
      await sleep(50);
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 4, message: `step ${progress}` } });
      }
    }
    return said('done');
  });
  const name = z.object({ name: z.string().optional() });
  server.registerTool('ask', { inputSchema: z.object({}) }, async (_, ctx) => {
    const answers = ctx.mcpReq.inputResponses;
    if (!answers) {
      return inputRequired({
        inputRequests: {
          name: inputRequired.elicit({ message: 'Who?', requestedSchema: name }),
          roots: inputRequired.listRoots(),
        },
        requestState: 'state/ü+=',
      });
    }
    return said(JSON.stringify([acceptedContent(answers, 'name', name), answers.roots]));
  });
  const grow = () => server.registerTool('grown', { inputSchema: z.object({}) }, async () => said('grown'));
  if (grown) grow();
  server.registerTool('grow', { inputSchema: z.object({}) }, async () => {
    if (!grown) { grown = true; grow(); changed(); }
    return said('one more tool');
  });
  server.registerResource('größe', 'test://größe', { mimeType: 'text/plain' }, async uri => ({
    contents: [{ uri: uri.href, mimeType: 'application/octet-stream', blob: 'AAH/' }],
  }));
  server.registerPrompt('greet', { argsSchema: z.object({ who: z.string() }) }, ({ who }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Grüß ${who}` } }],
  }));
  return server;
}

const [, , address] = process.argv;
if (address) {
  const [host, port] = address.split(':');
  const handler = createMcpHandler(makeServer);
  changed = () => handler.notify.toolsChanged();
  createServer(toNodeHandler(handler)).listen(Number(port), host);
} else {
  serveStdio(makeServer);
}
