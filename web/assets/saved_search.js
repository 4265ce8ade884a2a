// The text search of a saved page, in rows and frames. The filter language needs the server.

const batchIndex = 16383;

/** The words of a search: a phrase in quotes is one word, and - excludes a word. */
export function wordsOf(text) {
  return [...text.matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g)]
    .map(([, not, phrase, word]) => ({ not: not === '-', text: (phrase ?? word).toLowerCase() }))
    .filter((w) => w.text !== '');
}

/**
 * Returns the ids of the rows to show, or null for all. In the call view a row includes
 * its whole call, with nested calls. textOf(seq) is the text of a frame.
 */
export function search(rows, why, text, calls, textOf) {
  const words = wordsOf(text);
  if (words.length === 0) return null;
  const found = rows.filter((r) => {
    const all = [r.m, r.w, r.a, r.y, r.f, r.k, why.get(r.n), textOf(Math.floor(r.n / (batchIndex + 1)))].join('\n').toLowerCase();
    return words.every((w) => all.includes(w.text) !== w.not);
  });
  if (!calls) return withBatches(rows, new Set(found.map((r) => r.n)));
  const parents = new Map(rows.filter((r) => r.p && r.c === r.n).map((r) => [r.n, r.p]));
  const root = (call) => {
    for (let hops = 0; parents.has(call) && hops < 64; hops++) call = parents.get(call);
    return call;
  };
  const roots = new Set(found.filter((r) => r.c).map((r) => root(r.c)));
  const alone = new Set(found.filter((r) => !r.c).map((r) => r.n));
  return withBatches(rows, new Set(rows.filter((r) => (r.c ? roots.has(root(r.c)) : alone.has(r.n))).map((r) => r.n)));
}

// Adds the batches of messages.
function withBatches(rows, kept) {
  const seqs = new Set([...kept].map((id) => Math.floor(id / (batchIndex + 1))));
  for (const r of rows) if (r.n % (batchIndex + 1) === batchIndex && seqs.has(Math.floor(r.n / (batchIndex + 1)))) kept.add(r.n);
  return kept;
}
