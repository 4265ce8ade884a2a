// The waterfall: when each visible call was open. The scale fits the visible lines, so that it
// is useful at any length.

import { setAttr } from './dom.js';
import { offset } from './text.js';

/** The time span of the lines from first to last, in ns; ended is the duration of the recording. */
export function span(rows, lines, first, last, ended) {
  if (last <= first) return [0, 1];
  let from = Infinity;
  let to = 0;
  let end = 0;
  for (let line = first; line < last; line++) {
    const i = lines.row(line);
    from = Math.min(from, rows.at[i]);
    to = Math.max(to, rows.at[i]);
    end = Math.max(end, endOf(rows, i) || (rows.begins(i) ? ended : 0));
  }
  // Unless all lines are visible, a much longer call would shrink all others to nothing.
  if (last - first < lines.length) end = Math.min(end, to + (to - from) * 0.4);
  to = Math.max(to, end);
  if (to <= from) to = from + 1e6;
  return [from, Math.max(to, Math.min(to + (to - from) * 0.02, ended))];
}

// The states of calls that continue after a response.
const waits = new Set(['needs input', 'working']);

function endOf(rows, i) {
  if (rows.begins(i) && (rows.settled(i) || rows.end[i])) return rows.end[i];
  if (waits.has(rows.stateName(i))) return 0;
  return rows.response[i] && rows.latency[i] >= 0 ? rows.at[i] + rows.latency[i] : 0;
}

/** Draws the bar of a line. */
export function bar(el, rows, [from, to]) {
  const i = el.row;
  const style = el.bar.style;
  const open = rows.begins(i);
  const start = (rows.at[i] - from) / (to - from);
  const until = open ? endOf(rows, i) || to : rows.at[i];
  const width = Math.max(0, (Math.min(until, to) - rows.at[i]) / (to - from));
  const clipped = open && until > to;
  const cls = 'bar' + (open ? (endOf(rows, i) ? '' : ' endless') : ' tick') + (clipped ? ' clipped' : '');
  if (el.bar.className !== cls) el.bar.className = cls;
  setAttr(el.cells.fall, 'title', clipped ? `clipped: it was open until ${offset(until)} s, beyond the visible time` : null);
  style.left = (start * 100).toFixed(2) + '%';
  style.width = (width * 100).toFixed(2) + '%';
}

/** The head of the column. */
export const axis = ([from, to]) => `${offset(from)} – ${offset(to)}`;
