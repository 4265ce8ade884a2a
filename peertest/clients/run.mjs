// A client of the TypeScript SDK, v1 or v2, that plays a scenario with a server and writes a transcript of
// what it observes, one JSON object per line:
//
//   node run.mjs --sdk v1|v2 [--mode legacy|auto|2026-07-28] --scenario FILE
//                --out FILE [--var NAME=VALUE] [--env NAME=VALUE] [--stays]
//                -- COMMAND [ARG]... | --url URL --transport http|sse
//
// --stays means that the server does not exit when its stdin ends.
// The scenario language is described in ../doc.go.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { play } from './play.mjs';

const dashes = process.argv.indexOf('--', 2);
const [command, ...args] = dashes < 0 ? [] : process.argv.slice(dashes + 1);
const { values: opt } = parseArgs({
  args: dashes < 0 ? process.argv.slice(2) : process.argv.slice(2, dashes),
  options: {
    sdk: { type: 'string' },
    mode: { type: 'string', default: 'legacy' },
    scenario: { type: 'string' },
    out: { type: 'string' },
    var: { type: 'string', multiple: true, default: [] },
    env: { type: 'string', multiple: true, default: [] },
    url: { type: 'string' },
    transport: { type: 'string' },
    stays: { type: 'boolean', default: false },
  },
});
const pairs = list => Object.fromEntries(list.map(s => [s.slice(0, s.indexOf('=')), s.slice(s.indexOf('=') + 1)]));

const observed = [];
const note = entry => observed.push(entry);
const { openClient } = await import(`./${opt.sdk}.mjs`);
const peer = openClient({
  mode: opt.mode,
  server: opt.url ? undefined : { command, args, env: pairs(opt.env), stderr: 'pipe' },
  url: opt.url && new URL(opt.url),
  transport: opt.transport,
  answer: answerServer,
});
watch(peer.transport);

try {
  await peer.connect();
  note({ kind: 'connected', ...peer.facts() });
  await play(JSON.parse(readFileSync(opt.scenario, 'utf8')), peer, {
    client: `${opt.sdk}-${opt.mode}`,
    vars: pairs(opt.var),
    note,
    seen: method => observed.filter(e => e.kind === 'message' && e.method === method).length,
  });
} catch (e) {
  note({ kind: 'failed', error: { name: e.name, code: e.code, message: e.message } });
}
await peer.transport.terminateSession?.(); // a DELETE
patientTimers();
await peer.close();
if (peer.child) note({ kind: 'exit', ...peer.child });
if (!opt.url) note({ kind: 'stderr', text: peer.stderr });
writeFileSync(opt.out, observed.map(e => JSON.stringify(e) + '\n').join(''));

// Server requests are answered in one fixed way.
function answerServer(method, params) {
  switch (method) {
    case 'roots/list':
      return { roots: [{ uri: 'file:///srv/größe', name: 'größe' }, { uri: 'file:///srv/two' }] };
    case 'sampling/createMessage':
      return { model: 'peertest', role: 'assistant', stopReason: 'endTurn', content: { type: 'text', text: 'réponse 🙂' } };
    case 'elicitation/create':
      if (params.mode === 'url') return { action: 'accept' };
      return {
        action: 'accept',
        content: Object.fromEntries(Object.entries(params.requestedSchema.properties).map(([k, s]) => [k, pick(s)])),
      };
  }
  throw new Error(`no answer to ${method}`);
}

function pick(schema) {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.oneOf) return schema.oneOf[0].const;
  if (schema.type === 'array') return [schema.items.enum?.[0] ?? schema.items.anyOf[0].const];
  if (schema.type === 'boolean') return true;
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 7;
  return { email: 'a@example.org', uri: 'https://example.org/', date: '2026-07-28' }[schema.format] ?? 'Ünïcode ✓';
}

// The SDKs give a server 2 s to exit after closing its stdin, and 2 s after SIGTERM. On a busy machine that is
// not enough, unless the server is known to stay.
function patientTimers() {
  const set = globalThis.setTimeout;
  let stays = opt.stays;
  globalThis.setTimeout = (f, ms, ...args) => {
    if (ms === 2000 && !stays) ms = 20000;
    stays = false;
    return set(f, ms, ...args);
  };
}

// Unsolicited messages are recorded as the transport delivers them, below the SDK: some SDKs drop the last
// progress notification if it arrives together with the answer.
function watch(transport) {
  let deliver;
  Object.defineProperty(transport, 'onmessage', {
    get: () => deliver,
    set: f => {
      deliver = f && ((message, extra) => {
        if (message.method) note({ kind: 'message', method: message.method, request: 'id' in message, params: message.params });
        return f(message, extra);
      });
    },
  });
  if (opt.url) return;
  let process;
  Object.defineProperty(transport, '_process', {
    get: () => process,
    set: p => {
      process = p;
      if (!p) return;
      peer.child = { code: null, signal: null, after: 'eof' };
      p.on('exit', (code, signal) => Object.assign(peer.child, { code, signal }));
      const kill = p.kill;
      p.kill = signal => {
        // v1 also kills a process that SIGTERM has already ended.
        if (p.exitCode === null && p.signalCode === null) peer.child.after = signal.toLowerCase();
        return kill.call(p, signal);
      };
    },
  });
  peer.stderr = '';
  transport.stderr.setEncoding('utf8').on('data', text => (peer.stderr += text));
}
