// How kinds, roles and states look: a shape and a word for each, so that no
// colour has to be seen to tell them apart.

import { lanes } from './rows.js';

/** The arrow of a lane. */
export const arrows = { [lanes.life]: '·', [lanes.toServer]: '→', [lanes.toClient]: '←', [lanes.stderr]: '!' };

export const laneTitles = {
  [lanes.life]: 'about the run', [lanes.toServer]: 'from the client to the server',
  [lanes.toClient]: 'from the server to the client', [lanes.stderr]: "the server's stderr",
};

export const laneClass = { [lanes.life]: 'life', [lanes.toServer]: 'up', [lanes.toClient]: 'down', [lanes.stderr]: 'stderr' };

const plain = (shape, word, look) => ({ shape, word, look });

const stateWords = {
  pending: plain('◌', 'waiting', 'wait'),
  input_required: plain('↺', 'needs input', 'wait'),
  working: plain('◐', 'working', 'wait'),
  listening: plain('≋', 'listening', 'ok'),
  done: plain('✓', 'done', 'ok'),
  error: plain('✕', 'error', 'bad'),
  tool_error: plain('✕', 'tool error', 'bad'),
  cancelled: plain('⊘', 'cancelled', 'odd'),
  cancelled_late: plain('⊘', 'cancelled late', 'odd'),
};

/** How a call ended, by the name of its state. */
export const stateWord = (name) => stateWords[name] ?? stateWords.pending;

const unanswered = plain('◌', 'no response', 'bad');
const unsubscribed = plain('≋', 'ended', 'ok');

/** How a call stands; over says that nothing more can come. */
export function stateOf(rows, i, over) {
  const s = stateWords[rows.stateName(i)] ?? stateWords.pending;
  // To cancel a subscription is how a client ends it.
  if (s.word.startsWith('cancelled') && rows.methodName(i) === 'subscriptions/listen') return unsubscribed;
  return over && !rows.settled(i) && s !== stateWords.listening ? unanswered : s;
}

const kindWords = {
  request: plain('', 'request', ''),
  response: plain('', 'response', ''),
  error: plain('✕', 'error', 'bad'),
  notification: plain('', 'notify', 'dim'),
  batch: plain('', 'batch', ''),
  invalid: plain('✕', 'invalid', 'bad'),
  other: plain('', 'other', 'dim'),
  priming: plain('', 'SSE priming', 'dim'),
  comment: plain('', 'SSE comment', 'dim'),
  event: plain('', 'SSE event', 'dim'),
  endpoint: plain('', 'SSE endpoint', 'dim'),
  body: plain('', 'HTTP body', 'dim'),
  bytes: plain('', 'bytes', 'dim'),
  ping: plain('', 'WS ping', 'dim'),
  pong: plain('', 'WS pong', 'dim'),
  close: plain('', 'WS close', 'dim'),
  stderr: plain('', 'stderr', 'dim'),
  start: plain('▶', 'start', 'dim'),
  eof: plain('', 'end of lane', 'dim'),
  exit: plain('■', 'exit', 'dim'),
  signal: plain('', 'signal', 'dim'),
  gap: plain('✕', 'gap', 'bad'),
  broken: plain('✕', 'broken', 'bad'),
  spawn_failed: plain('✕', 'no start', 'bad'),
};

/** The word for the kind of a frame. */
export const kindWord = (kind) => kindWords[kind]?.word || kind;

const roleWords = {
  progress: plain('', 'progress', 'dim'),
  log: plain('', 'log', 'dim'),
  cancel: plain('⊘', 'cancel', 'odd'),
  retry: plain('↻', 'retry', ''),
  interim: plain('↺', 'interim', ''),
  late: plain('⊘', 'late', 'odd'),
  repeat: plain('✕', 'repeated', 'bad'),
  orphan: plain('✕', 'orphan', 'bad'),
  unmatched: plain('?', 'unmatched', 'odd'),
  replay: plain('↻', 'sent again', 'dim'),
};

/** What a role means, for those that need a word. */
export const roleMeans = {
  late: 'It came although its request had been cancelled.',
  repeat: 'Its request had been answered already.',
  orphan: 'It answers a request that is not known: none is open with this id.',
  unmatched: 'It is about a call, a task or a subscription that is not known.',
  replay: 'It had come before, and was sent once more on a stream that was resumed.',
};

// Two of them are called as messages are.
const httpWords = {
  connect: 'connected', disconnect: 'disconnected', request: 'HTTP request', response: 'HTTP response', end: 'HTTP end', rewrite: 'rewritten',
};

/** What a row is. */
export function kindOf(rows, i) {
  const kind = rows.kindName(i);
  if (rows.lane[i] === lanes.life && httpWords[kind]) return rows.failed(i) ? plain('✕', httpWords[kind], 'bad') : plain('', httpWords[kind], 'dim');
  const byRole = roleWords[rows.roleName(i)];
  if (byRole && kind !== 'error') return byRole;
  const k = kindWords[kind] ?? plain('', kind, 'dim');
  if (rows.failed(i) && k.look !== 'bad') return plain('✕', kind === 'response' ? 'tool error' : k.word, 'bad');
  return k;
}
