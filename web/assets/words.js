// Shapes and words for kinds, roles and states, so that no distinction depends on colour.

import { lanes } from './rows.js';
import { left } from './source.js';

/** The arrow of a lane. */
export const arrows = { [lanes.lifecycle]: '·', [lanes.toServer]: '→', [lanes.toClient]: '←', [lanes.stderr]: '!' };

export const laneTitles = {
  [lanes.lifecycle]: 'event of the run', [lanes.toServer]: 'from the client to the server',
  [lanes.toClient]: 'from the server to the client', [lanes.stderr]: "the server's stderr",
};

export const laneClass = { [lanes.lifecycle]: 'lifecycle', [lanes.toServer]: 'up', [lanes.toClient]: 'down', [lanes.stderr]: 'stderr' };

const plain = (shape, word, look) => ({ shape, word, look });

// By the names of session.State.
const stateShapes = {
  pending: ['◌', 'wait'], 'needs input': ['↺', 'wait'], working: ['◐', 'wait'], listening: ['≋', 'ok'], unanswered: ['◌', 'bad'],
  lost: ['✕', 'bad'], done: ['✓', 'ok'], failed: ['✕', 'bad'], error: ['✕', 'bad'], refused: ['✕', 'bad'], challenged: ['?', 'wait'],
  'cut off': ['✕', 'bad'], cancelled: ['⊘', 'odd'], 'too late': ['⊘', 'odd'], ended: ['≋', 'ok ended'],
};

/** A state of a call. */
export const stateWord = (name) => plain(stateShapes[name]?.[0] ?? '', name, stateShapes[name]?.[1] ?? '');

/** Whether a call is open at the end of a part of a recording: its response may be in frames that the page does not have. */
export const openAtEnd = (rows, i) => left > 0 && !rows.settled(i) && !rows.end[i];

/** The state of a call; over means that the recording has ended. */
export function stateOf(rows, i, over) {
  const s = stateWord(rows.stateName(i) || 'pending');
  if (!over || rows.settled(i)) return s;
  if (s.word === 'listening') return openAtEnd(rows, i) ? s : stateWord('ended');
  if (openAtEnd(rows, i)) return plain('◌', 'unknown', 'dim');
  return s.word === 'pending' ? stateWord('unanswered') : plain(s.shape, s.word, 'bad'); // the client gave no input, or the task did not end
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
  orphan: plain('✕', 'no such request', 'bad'),
  unmatched: plain('?', 'no such call', 'odd'),
  replay: plain('↻', 'sent again', 'dim'),
};

/** The meaning of some roles. */
export const roleMeans = {
  late: 'It arrived after its request was cancelled.',
  repeat: 'Its request already had a response.',
  unmatched: 'Its call, task or subscription is not known.',
  replay: 'It was sent before, and again on a resumed stream.',
};

// Two of these kinds have the same names as kinds of messages.
const httpWords = {
  connect: 'connected', disconnect: 'disconnected', request: 'HTTP request', response: 'HTTP response', end: 'HTTP end', rewrite: 'rewritten', hang_up: 'hang up',
};

/** The word for an event of the run. */
export const eventWord = (name) => httpWords[name] ?? kindWord(name);

/** The kind of a row. */
export function kindOf(rows, i) {
  const kind = rows.kindName(i);
  if (rows.lane[i] === lanes.lifecycle && httpWords[kind]) return rows.failed(i) ? plain('✕', httpWords[kind], 'bad') : plain('', httpWords[kind], 'dim');
  const byRole = roleWords[rows.roleName(i)];
  if (byRole && kind !== 'error') return byRole;
  const k = kindWords[kind] ?? plain('', kind, 'dim');
  if (rows.failed(i) && k.look !== 'bad') return plain('✕', kind === 'response' ? 'failed' : k.word, 'bad');
  return k;
}
