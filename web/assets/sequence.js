// The sequence: client and server as two lines, with messages as arrows between them. A bar
// on a line is a call that is open there; bars side by side are concurrent calls.

import { h, setAttr, setText } from './dom.js';
import { lanes, mark, seqOf } from './rows.js';
import { duration, offset } from './text.js';
import { kindOf, stateOf } from './words.js';

const slots = 6; // bars side by side
const stride = 256; // rows between two snapshots

// Active finds the calls that are open at a row, from snapshots.
class Active {
  #rows;
  #snapshots = [];
  #open = []; // row by slot
  #read = 0;
  #version = -1;

  constructor(rows) {
    this.#rows = rows;
  }

  // Updates the open calls, by slot, for the row at index k.
  #step(open, k) {
    const rows = this.#rows;
    const i = rows.order[k];
    if (rows.begins(i)) {
      let slot = open.findIndex((v, s) => v === undefined && s % 2 === rows.lane[i] % 2);
      if (slot < 0) slot = nextSlot(open, rows.lane[i] % 2);
      if (slot < slots * 2) open[slot] = i;
    }
    for (let s = 0; s < open.length; s++) {
      const c = open[s];
      if (c === undefined) continue;
      const over = rows.response[c] ? seqOf(rows.response[c]) <= seqOf(rows.id[i]) : rows.end[c] > 0 && rows.end[c] <= rows.at[i];
      if (over && c !== i) open[s] = undefined;
    }
  }

  /** The calls that are open at each index from first to last. */
  between(first, last) {
    const rows = this.#rows;
    if (this.#version !== rows.version) {
      this.#snapshots = [];
      this.#open = [];
      this.#read = 0;
      this.#version = rows.version;
    }
    for (; this.#read < Math.min(last, rows.shown); this.#read++) {
      if (this.#read % stride === 0) this.#snapshots[this.#read / stride] = [...this.#open];
      this.#step(this.#open, this.#read);
    }
    const from = Math.floor(first / stride);
    const open = [...(this.#snapshots[from] ?? [])];
    const out = [];
    for (let k = from * stride; k < last; k++) {
      const before = [...open];
      this.#step(open, k);
      // A call that ends here is still drawn.
      if (k >= first) out[k - first] = Array.from({ length: Math.max(before.length, open.length) }, (_, s) => before[s] ?? open[s]);
    }
    return out;
  }
}

function nextSlot(open, side) {
  let s = open.length;
  while (s % 2 !== side) s++;
  return s;
}

export class Sequence {
  constructor(view) {
    this.view = view;
    this.active = new Active(view.rows);
  }

  make() {
    const el = h('div', { class: 'row step', role: 'row' });
    el.time = h('span', { class: 'time', role: 'gridcell' });
    el.client = h('span', { class: 'lifeline client', 'aria-hidden': 'true' });
    el.label = h('span', { class: 'label' });
    el.note = h('span', { class: 'note' });
    el.wire = h('span', { class: 'wire', role: 'gridcell' }, h('span', { class: 'text' }, el.label, ' ', el.note), h('span', { class: 'shaft' }));
    el.server = h('span', { class: 'lifeline server', 'aria-hidden': 'true' });
    el.append(el.time, el.client, el.wire, el.server);
    el.bars = [[], []];
    return el;
  }

  draw(el, line) {
    const { rows, lines, over, selected } = this.view;
    const i = lines.row(line);
    const call = rows.begins(i);
    // Of a call without a response no other row shows the state.
    const unanswered = call && (!rows.settled(i) || rows.refused(i));
    const kind = unanswered ? stateOf(rows, i, over) : kindOf(rows, i);
    el.line = line;
    el.row = i;
    setAttr(el, 'id', 'row-' + rows.id[i]);
    setAttr(el, 'aria-rowindex', line + 2);
    setAttr(el, 'aria-selected', String(rows.id[i] === selected));
    const way = rows.marks[i] & mark.byTap ? 'lifecycle' : rows.lane[i] === lanes.toServer ? 'up' : rows.lane[i] === lanes.toClient ? 'down' : rows.lane[i] === lanes.stderr ? 'stderr' : 'lifecycle';
    const dashed = rows.request[i] ? ' response' : rows.kindName(i) === 'notification' ? ' notify' : '';
    el.className = `row step ${way}${dashed} ${kind.look ?? ''}${rows.id[i] === selected ? ' selected' : ''}${rows.marks[i] & mark.batch ? ' batch' : ''}`;
    const gap = line > 0 ? rows.at[i] - rows.at[lines.row(line - 1)] : 0;
    setText(el.time, gap > 1e9 ? '+' + duration(gap) : offset(rows.at[i]));
    el.time.classList.toggle('gap', gap > 1e9);
    setAttr(el.time, 'title', offset(rows.at[i]) + ' s');
    const other = way === 'stderr' || way === 'lifecycle';
    setText(el.label, `#${seqOf(rows.id[i])} ${other ? kind.word : rows.name[i] || kind.word}`);
    const about = rows.fault.get(i) || (unanswered && rows.why.get(i)) || (other ? rows.name[i] : rows.preview[i]);
    setText(el.note, (rows.request[i] ? duration(rows.latency[i]) + (about ? ' · ' : '') : '') + about + (unanswered ? ` · ${kind.word}` : ''));
  }

  /** Draws the bars of the visible rows. */
  painted(pool) {
    const lines = [...pool.keys()];
    if (lines.length === 0) return;
    const { rows } = this.view;
    const place = (el) => rows.place(rows.id[el.row]);
    const first = place(pool.get(Math.min(...lines)));
    const at = this.active.between(first, place(pool.get(Math.max(...lines))) + 1);
    for (const el of pool.values()) {
      const open = at[place(el) - first] ?? [];
      for (const side of [0, 1]) {
        const mine = open.filter((v, s) => s % 2 === side);
        this.#bars(el, side, mine, rows);
      }
    }
  }

  #bars(el, side, open, rows) {
    // The server works on requests of the client, and the reverse.
    const lifeline = side === lanes.toServer % 2 ? el.server : el.client;
    const have = el.bars[side];
    while (have.length < open.length) {
      const b = h('i');
      b.style.setProperty('--slot', have.length);
      lifeline.append(b);
      have.push(b);
    }
    have.forEach((b, slot) => {
      const c = open[slot];
      const cls = c === undefined ? '' : c === el.row ? 'on begins' : rows.response[c] && seqOf(rows.response[c]) === seqOf(rows.id[el.row]) ? 'on ends' : 'on';
      if (b.className !== cls) b.className = cls;
    });
  }
}

/** The headers of the two lines. */
export function header(client, server) {
  return h('div', { class: 'row step header', role: 'row', 'aria-rowindex': '1' },
    h('span', { class: 'time', role: 'columnheader' }, 'Time'), h('span', { class: 'party', role: 'columnheader' }, client || 'Client'),
    h('span', { class: 'party', role: 'columnheader' }, server || 'Server'));
}
