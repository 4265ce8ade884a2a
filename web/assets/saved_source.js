// The recording in a saved page.

import { search } from './saved_search.js';

export const saved = true;

const data = JSON.parse(document.getElementById('data').textContent);

const gone = () => Promise.reject(new Error(left > 0 ? 'This page has only the beginning of the recording. mcptap show has all of it.' : 'The recording has no such frame.'));

function bytesOf(base64) {
  const text = atob(base64 ?? '');
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The recording, and the number of frames that the page does not have. */
export const recording = data.recording;
export const left = data.left ?? 0;

export const filterHelp = async () => [];
export const complete = async () => ({ completions: [] });
export const stats = async () => data.stats;
export const findings = async () => data.findings ?? gone();
export const changes = async (key, seq) => data.changes?.[seq] ?? gone();
export const exportURL = null;
export const bytesURL = null;

export async function detail(key, seq) {
  const frame = data.frames[seq];
  if (!frame) return gone();
  return { ...frame, heads: frame.exchange ? data.heads?.[frame.exchange] : undefined };
}

export async function bytes(key, seq, part, from, to) {
  const frame = data.frames[seq];
  return bytesOf(part === 'payload' ? frame.data : frame.raw).slice(from, to);
}

const texts = new Map();

// The text of a frame, or the part that the page has.
function textOf(seq) {
  let text = texts.get(seq);
  if (text === undefined) {
    const frame = data.frames[seq];
    text = frame ? new TextDecoder().decode(bytesOf(frame.data ?? frame.raw)) : '';
    texts.set(seq, text);
  }
  return text;
}

// The rows that a search finds, null for all.
function found(text, calls) {
  if (!text) return null;
  const why = new Map(data.messages.flatMap((m) => m.u ?? []).filter((u) => u.f).map((u) => [u.n, u.f]));
  return search(data.messages.flatMap((m) => m.r ?? []), why, text, calls, textOf);
}

/** Replays the messages of the view. */
export function stream(key, options, on) {
  let n = 0;
  let over = false;
  let kept;
  const step = () => {
    if (over) return;
    if (kept === undefined) kept = found(options.filter, options.calls);
    for (let i = 0; i < 20 && !over && n < data.messages.length; i++) {
      const m = data.messages[n++];
      on.message(kept && m.r ? { ...m, r: m.r.filter((r) => kept.has(r.n)) } : m);
    }
    if (!over && n < data.messages.length) setTimeout(step);
  };
  setTimeout(step);
  return () => { over = true; };
}
