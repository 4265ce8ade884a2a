// Requests to the server. A saved page uses saved_source.js instead.

/** Whether this is a saved page. */
export const saved = false;

/** The number of frames of the recording that the page does not have. */
export const left = 0;

/** An error response of the server. */
export class Problem extends Error {
  constructor(p) {
    super(p.text);
    Object.assign(this, p);
  }
}

const gone = { kind: 'gone', text: 'mcptap does not respond.' };
const locked = { kind: 'locked', text: 'mcptap does not know this browser.' };

async function get(path, params, signal) {
  const query = new URLSearchParams(params ?? {}).toString();
  let res;
  try {
    res = await fetch(path + (query ? '?' + query : ''), { signal });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Problem(gone);
  }
  if (res.status === 401) throw new Problem(locked);
  if (!res.ok) {
    const body = await res.json().catch(() => null);
    throw new Problem(body?.problem ?? { kind: 'request', text: 'mcptap responded with status ' + res.status + '.' });
  }
  return res;
}

const base = '/api/recordings';
const of = (key) => base + '/' + encodeURIComponent(key);
const json = async (...args) => (await get(...args)).json();

export const recordings = (signal) => json(base, null, signal);
export const formats = () => json('/api/formats');
export const filterHelp = () => json('/api/filter');
export const complete = (key, q, cursor, signal) => json(of(key) + '/complete', { q, cursor }, signal);
export const stats = (key, session, signal) => json(of(key) + '/stats', session ? { session } : null, signal);
export const findings = (key, session, signal) => json(of(key) + '/findings', session ? { session } : null, signal);
export const detail = (key, seq, signal) => json(`${of(key)}/frames/${seq}`, null, signal);
export const changes = (key, seq, before, signal) => json(`${of(key)}/frames/${seq}/changes`, { before }, signal);
export const compare = (sides, signal) => json('/api/compare', sides, signal);
export const exportURL = (key, format) => of(key) + '/export?format=' + encodeURIComponent(format);
export const bytesURL = (key, seq) => `${of(key)}/frames/${seq}/bytes?download`;

/** Bytes of a frame, or of its payload, as a Uint8Array. */
export async function bytes(key, seq, part, from, to, signal) {
  const res = await get(`${of(key)}/frames/${seq}/bytes`, { part, from, to }, signal);
  return new Uint8Array(await res.arrayBuffer());
}

/**
 * Opens a view. It calls on.message with each message, and on.lost when the connection
 * is lost. It acknowledges each message after on.message, so that the server does not
 * get far ahead. Returns a function that closes the view.
 */
export function stream(key, options, on) {
  const url = new URL(of(key) + '/stream', location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const socket = new WebSocket(url);
  let over = false;
  socket.onopen = () => socket.send(JSON.stringify(options));
  socket.onmessage = (e) => {
    if (over) return;
    on.message(JSON.parse(e.data));
    if (!over) socket.send('ok');
  };
  socket.onclose = () => {
    if (!over) on.lost();
    over = true;
  };
  return () => {
    over = true;
    // Closing a socket that is still connecting logs an error.
    if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket.close();
  };
}
