// Validates messages with the wire validation of the conformance suite: the check that it reports as
// wire-schema-valid. The suite exports nothing, so this loads a copy of its bundle that exports the
// function and lacks the last statement, which runs the program. The function is found by an error text
// that occurs only once.
//
// Each line of stdin is a session: {"revision", "frames": [{"lane", "message"}]}. For each it writes a
// line with the errors of the last frame: a JSON array, empty if the frame is valid. As in the suite
// (instrumentTransport in src/connection/sdk-client.ts), a result is validated with the method of the
// last request with its id from the other side.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [modules] = process.argv.slice(2); // the directory node_modules

async function load() {
  const suite = join(modules, 'conformance-next');
  let source = readFileSync(join(suite, 'dist', 'index.js'), 'utf8');
  const at = source.indexOf('batch arrays are not valid in this spec version');
  const name = /^function (\w+)\(/.exec(source.slice(source.lastIndexOf('function ', at)))?.[1];
  const main = /,\w+\.parse\(\);export\{\};\s*$/;
  if (at < 0 || !name || !main.test(source)) {
    throw new Error('the wire validation is not where it was: has the suite changed?');
  }
  source = source.replace(main, `;export { ${name} as wireSchemaErrors };`);
  const dir = mkdtempSync(join(tmpdir(), 'oracle-'));
  try {
    symlinkSync(modules, join(dir, 'node_modules'), 'junction');
    symlinkSync(join(suite, 'requirements'), join(dir, 'requirements'), 'junction');
    mkdirSync(join(dir, 'dist'));
    writeFileSync(join(dir, 'dist', 'index.mjs'), source);
    return (await import(pathToFileURL(join(dir, 'dist', 'index.mjs')))).wireSchemaErrors;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const wireSchemaErrors = await load();

function judge({ revision, frames }) {
  const requests = { to_server: new Map(), to_client: new Map() };
  let errors;
  for (const { lane, message } of frames) {
    const own = requests[lane];
    const peer = requests[lane === 'to_server' ? 'to_client' : 'to_server'];
    let method;
    for (const m of Array.isArray(message) ? message : [message]) {
      if (typeof m?.method === 'string') {
        if (m.id !== undefined) own.set(m.id, m.method);
      } else if (m?.id !== undefined) {
        method = peer.get(m.id);
        peer.delete(m.id);
      }
    }
    // A batch is validated without methods.
    errors = wireSchemaErrors(revision, message, Array.isArray(message) ? undefined : method);
  }
  return errors;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(judge(JSON.parse(line))) + '\n');
}
