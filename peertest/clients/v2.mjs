// The TypeScript SDK v2 client, with the interface that play.mjs expects.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const info = { name: 'peertest', version: '1.0.0' };
const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };

export function openClient({ server, url, transport: kind, mode, answer }) {
  const transport = server ? new StdioClientTransport(server)
    : kind === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
  const client = new Client(info, {
    capabilities,
    versionNegotiation: { mode: /^\d/.test(mode) ? { pin: mode } : mode },
  });
  for (const method of ['roots/list', 'sampling/createMessage', 'elicitation/create']) {
    client.setRequestHandler(method, request => answer(request.method, request.params));
  }
  return {
    client,
    transport,
    connect: () => client.connect(transport),
    close: () => client.close(),
    call: (params, options) => client.callTool(params, options),
    listen: filter => client.listen(filter),
    facts: () => ({
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
      era: client.getProtocolEra(),
      revision: client.getNegotiatedProtocolVersion(),
    }),
  };
}
