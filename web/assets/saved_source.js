// Where the recording comes from in a page that was saved: all of it stands in
// the page itself.

export const saved = true;

const data = JSON.parse(document.getElementById('data').textContent);

const gone = () => Promise.reject(new Error('It is not in this page, which has the beginning of the recording. mcptap show has all of it.'));

const bytesOf = (base64) => Uint8Array.from(atob(base64 ?? ''), (c) => c.charCodeAt(0));

/** The recording in the page, and how many frames of it are not. */
export const recording = data.recording;
export const left = data.left ?? 0;

export const filterHelp = async () => [];
export const complete = gone;
export const stats = async () => data.stats;
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

/** Plays what a view was told when the page was made. */
export function stream(key, options, on) {
  let n = 0;
  let over = false;
  const step = () => {
    for (let i = 0; i < 20 && !over && n < data.messages.length; i++) on.message(data.messages[n++]);
    if (!over && n < data.messages.length) setTimeout(step);
  };
  setTimeout(step);
  return () => { over = true; };
}
