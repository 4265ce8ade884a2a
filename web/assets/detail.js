// The panel next to the list: the selected frame, with the frame it belongs to.

import { fill, h, keepFocus } from './dom.js';
import { Card } from './card.js';
import { indexOf, mark, seqOf } from './rows.js';
import { duration } from './text.js';
import { arrows, kindOf, laneClass, roleMeans, stateOf } from './words.js';

const maxKids = 12;

export class Detail {
  /**
   * view has rows, key and over, and the methods select(id) and close().
   */
  constructor(el, view) {
    this.el = el;
    this.view = view;
    this.tab = 'tree';
    this.cards = [];
    this.shown = 0;
    this.head = h('header', { class: 'detail-head' });
    this.body = h('div', { class: 'cards' });
    for (const does of ['wheel', 'pointerdown', 'keydown']) this.body.addEventListener(does, () => { this.steady = false; }, { passive: true });
    el.append(this.head, this.body);
  }

  /** Shows the frame of an id, even if the list does not have its row. */
  show(id) {
    const row = this.view.rows.find(id);
    const again = id === this.shown;
    this.shown = id;
    const wanted = row < 0 ? [seqOf(id)] : this.#framesOf(row);
    if (wanted.join() !== this.cards.map((c) => c.seq).join()) this.#setCards(wanted, again ? this.cards : []);
    // The row has arrived.
    if (again && this.rowless && row >= 0) for (const c of this.cards) c.redraw();
    this.rowless = row < 0;
    this.#label(row);
    for (const c of this.cards) c.mark(c.seq === seqOf(id) && this.cards.length > 1);
    this.steady = true;
    this.keep();
  }

  // Creates the cards that do not exist yet.
  #setCards(wanted, old) {
    for (const c of this.cards) if (!old.includes(c) || !wanted.includes(c.seq)) c.close();
    const kept = new Map(old.map((c) => [c.seq, c]));
    const { scrollTop } = this.body;
    this.cards = wanted.map((seq) => kept.get(seq) ?? new Card(this, seq));
    keepFocus(this.body, () => fill(this.body, this.cards.map((c) => c.el)), () => this.view.scroller);
    this.body.scrollTop = old.length > 0 ? scrollTop : 0;
  }

  /**
   * Keeps the selected frame in view while cards above it are loading, until the user
   * scrolls. A call is shown from its request on.
   */
  keep() {
    const at = this.cards.findIndex((c) => c.seq === seqOf(this.shown));
    if (at <= 0 || !this.steady || this.view.calls) return;
    this.body.scrollTop += this.cards[at].el.getBoundingClientRect().top - this.body.getBoundingClientRect().top - 12;
  }

  /** Draws the head again: a response may have arrived. */
  refresh() {
    if (!this.shown) return;
    const row = this.view.rows.find(this.shown);
    if (row >= 0 && this.#framesOf(row).join() !== this.cards.map((c) => c.seq).join()) this.show(this.shown);
    else this.#label(row);
  }

  clear() {
    for (const c of this.cards) c.close();
    this.cards = [];
    this.shown = 0;
    fill(this.body);
  }

  // A call has its request and its response, or the head and the body of the HTTP response that
  // refused it. Any other message is preceded by the one it belongs to.
  #framesOf(row) {
    const { rows } = this.view;
    const own = seqOf(rows.id[row]);
    if (rows.begins(row)) return [rows.id[row], rows.response[row], rows.body.get(row)].filter(Boolean).map(seqOf).filter(unique);
    const other = rows.request[row] || (rows.call[row] !== rows.id[row] ? rows.call[row] : 0);
    if (!other) return [own];
    return [seqOf(other), own].filter(unique);
  }

  #label(row) {
    keepFocus(this.head, () => this.#fillHead(row), () => this.view.scroller);
  }

  #fillHead(row) {
    const { rows } = this.view;
    const close = h('button', { type: 'button', class: 'quiet close', title: 'Close (Esc)', 'aria-label': 'Close', onclick: () => this.view.close() }, '✕');
    if (row < 0) {
      fill(this.head, h('div', { class: 'title' }, h('h2', null, 'Frame ' + seqOf(this.shown))), close);
      return;
    }
    const call = rows.begins(row) ? row : rows.find(rows.call[row]);
    const state = call >= 0 ? stateOf(rows, call, this.view.over) : kindOf(rows, row);
    const title = h('div', { class: 'title' },
      h('span', { class: 'arrow ' + laneClass[rows.lane[row]], 'aria-hidden': 'true' }, arrows[rows.lane[row]]),
      h('h2', null, rows.name[row] || kindOf(rows, row).word, ' ', h('span', { class: 'about' }, rows.detailName(row))));
    const chips = h('div', { class: 'chips' }, h('span', { class: 'state ' + state.look }, state.shape + ' ' + state.word + this.#took(call)), this.#links(row, call));
    const fault = rows.fault.get(row) ?? (call >= 0 ? rows.why.get(call) : '');
    fill(this.head, title, close, chips, fault && h('p', { class: 'fault ' + state.look }, fault), this.#remarks(row));
  }

  #took(call) {
    const { rows } = this.view;
    return call >= 0 && rows.settled(call) && rows.end[call] ? ' · ' + duration(rows.end[call] - rows.at[call]) : '';
  }

  // Links to related frames.
  #links(row, call) {
    const { rows } = this.view;
    const links = [];
    const link = (id, word) => {
      if (!id || seqOf(id) === seqOf(rows.id[row])) return;
      links.push(h('button', { type: 'button', class: 'chip', onclick: () => this.view.select(id), title: 'Go to frame ' + seqOf(id) }, word + ' #' + seqOf(id)));
    };
    if (call >= 0) {
      const parent = rows.parent.get(call);
      if (parent) link(parent, (rows.marks[call] & mark.guess ? 'probably within' : 'within'));
      if (call !== row) link(rows.id[call], 'request');
      link(rows.response[call], rows.refused(call) ? 'HTTP response' : 'response');
      link(rows.body.get(call), 'HTTP body');
      let n = 0;
      let more = 0;
      for (let k = rows.kid[call]; k >= 0; k = rows.sibling[k]) {
        const word = rows.begins(k) ? rows.methodName(k) : kindOf(rows, k).word;
        if (rows.id[k] === rows.response[call] || k === row) continue;
        if (n++ < maxKids) link(rows.id[k], word);
        else more++;
        if (more > 10000) break;
      }
      if (more > 0) links.push(h('span', { class: 'note' }, `and ${more > 10000 ? 'over 10,000' : more} more`));
    } else if (rows.request[row]) link(rows.request[row], 'request');
    return links;
  }

  #remarks(row) {
    const { rows } = this.view;
    const m = rows.marks[row];
    const words = [];
    if (roleMeans[rows.roleName(row)]) words.push(roleMeans[rows.roleName(row)]);
    if (m & mark.truncated) words.push('Bytes of this frame are missing: the recording was interrupted while it crossed.');
    if (m & mark.clash) words.push('Another request with this id was still open.');
    if (m & mark.guess) words.push('Its call is uncertain; this is the most likely one.');
    if (m & mark.late && rows.roleName(row) !== 'late') words.push('It arrived after its call had ended.');
    if (m & mark.member) words.push(`It is message ${indexOf(rows.id[row]) + 1} of a batch.`);
    return words.map((w) => h('p', { class: 'note' }, w));
  }
}

const unique = (v, i, all) => all.indexOf(v) === i;
