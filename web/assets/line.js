// One line of the list.

import { h, setAttr, setText } from './dom.js';
import { indexOf, mark, seqOf } from './rows.js';
import { duration, offset, size } from './text.js';
import { arrows, kindOf, laneClass, laneTitles, openAtEnd, stateOf } from './words.js';

export const columns = [
  ['no', '#', 'number of the frame'], ['time', 'Time', 'since the start, in seconds'], ['what', 'Message', ''],
  ['state', 'State', ''], ['took', 'Took', 'from the request to its response'], ['size', 'Size', ''], ['fall', '', 'when each call was open'],
];

/** Creates the element of a line; draw fills it. */
export function make() {
  const el = h('div', { class: 'row', role: 'row' });
  el.cells = {};
  for (const [name] of columns) {
    const cell = h('span', { class: name, role: 'gridcell' });
    el.cells[name] = cell;
    el.append(cell);
  }
  const what = el.cells.what;
  el.twisty = h('span', { class: 'twisty', 'aria-hidden': 'true' });
  el.arrow = h('span', { class: 'arrow' });
  el.name = h('span', { class: 'name' });
  el.args = h('span', { class: 'preview args' });
  el.result = h('span', { class: 'preview' });
  el.fault = h('span', { class: 'fault' });
  el.method = h('span', { class: 'method' });
  el.more = h('span', { class: 'more' });
  el.flag = h('span', { class: 'flag', role: 'img' });
  el.session = h('span', { class: 'session' });
  what.append(el.twisty, el.arrow, el.flag, el.session, el.name, el.args, el.result, el.fault, el.method, el.more);
  el.bar = h('span', { class: 'bar' });
  el.cells.fall.append(el.bar);
  return el;
}

/** Draws a line. view has rows, lines, calls, over and selected. */
export function draw(el, line, view) {
  const { rows, lines } = view;
  const i = lines.row(line);
  const call = view.calls && rows.begins(i);
  const depth = lines.depth(line) + (rows.marks[i] & mark.member ? 1 : 0);
  const state = call ? stateOf(rows, i, view.over) : kindOf(rows, i);
  el.line = line;
  el.row = i;
  setAttr(el, 'id', 'row-' + rows.id[i]);
  setAttr(el, 'aria-rowindex', line + 2);
  setAttr(el, 'aria-selected', String(rows.id[i] === view.selected));
  if (view.calls) {
    setAttr(el, 'aria-level', depth + 1);
    setAttr(el, 'aria-expanded', lines.opens(line) ? String(lines.open.has(i)) : null);
  }
  const cls = 'row ' + laneClass[rows.lane[i]] + (state.look ? ' ' + state.look : '') + (call ? ' call' : '') + (rows.id[i] === view.selected ? ' selected' : '');
  if (el.className !== cls) el.className = cls;
  setText(el.cells.no, rows.marks[i] & mark.member ? `${seqOf(rows.id[i])}.${indexOf(rows.id[i]) + 1}` : String(seqOf(rows.id[i])));
  setText(el.cells.time, offset(rows.at[i]));
  if (el.depth !== depth) {
    el.cells.what.style.setProperty('--depth', Math.min(depth, 12));
    el.depth = depth;
  }
  setText(el.arrow, arrows[rows.lane[i]]);
  setAttr(el.arrow, 'aria-label', laneTitles[rows.lane[i]]);
  texts(el, view, i, call);
  setText(el.cells.state, state.shape ? state.shape + ' ' + state.word : state.word);
  setText(el.cells.took, took(view, i, call));
  setText(el.cells.size, rows.lane[i] === 0 ? '' : size(rows.size[i]));
}

function texts(el, { rows, flags }, i, call) {
  setText(el.session, sessionOf(rows, i));
  // A call shows the result of its response.
  const response = call ? rows.find(rows.response[i]) : -1;
  const result = rows.result(response >= 0 ? response : i);
  // For a batch, only the row of the whole frame.
  const flagOf = (k) => (k >= 0 && !(rows.marks[k] & mark.member) ? flags.get(seqOf(rows.id[k])) : null);
  const flag = flagOf(i) ?? flagOf(response);
  setText(el.flag, flag ? '⚑' : '');
  setAttr(el.flag, 'title', flag);
  setAttr(el.flag, 'aria-label', flag);
  setText(el.name, rows.name[i]);
  setText(el.args, rows.args(i));
  setText(el.result, result && '→ ' + result);
  setText(el.method, rows.detailName(response >= 0 ? response : i));
  const fault = (call && rows.why.get(i)) || (rows.fault.get(i) ?? rows.fault.get(response) ?? '');
  setText(el.fault, rows.marks[i] & mark.truncated ? (fault ? fault + ', truncated' : 'truncated: bytes are missing') : fault);
  // The messages that are folded into a call, except its response.
  const extra = call ? rows.parts[i] - (response >= 0 && rows.under[response] === i ? 1 : 0) : 0;
  setText(el.more, extra > 0 ? `+${extra}` : '');
  setAttr(el.more, 'title', extra > 0 ? `${extra} more messages` : null);
}

// The session of a row, if there are several.
function sessionOf(rows, i) {
  const n = rows.session.get(i) ?? 1;
  return rows.sessions.size > 1 && n > 0 ? 'S' + n : '';
}

// How long a call took, or how long it has waited for its response.
function took(view, i, call) {
  const { rows } = view;
  if (call) {
    if (rows.settled(i)) return duration((rows.end[i] || rows.at[i] + rows.latency[i]) - rows.at[i]);
    // A call without a response has an end if the response was lost or the client hung up.
    const until = rows.end[i] || view.summary.now(view.over);
    const listens = rows.stateName(i) === 'listening';
    return (listens && !view.over) || openAtEnd(rows, i) ? '' : (listens ? '' : '> ') + duration(Math.max(until - rows.at[i], 0));
  }
  if (rows.request[i]) return duration(rows.latency[i]);
  return '';
}

/** The heads of the columns. */
export function header() {
  return h('div', { class: 'row header', role: 'row', 'aria-rowindex': '1' },
    columns.map(([name, label, title]) => h('span', { class: name, role: 'columnheader', title: title || null }, label || h('span', { class: 'axis' }))));
}
