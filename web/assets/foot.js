// The line below the list: how many frames there are, and how many are new.

import { announce, fill, h, keepFocus } from './dom.js';
import { left, saved } from './source.js';
import { count, plural } from './text.js';
import { openAtEnd } from './words.js';

const pause = 80; // ms between two drawings
const quiet = 3000; // ms between two announcements

export class Foot {
  el = h('footer', { class: 'foot' });

  constructor(view) {
    this.view = view;
    this.pill = h('button', { type: 'button', class: 'news', hidden: true, onclick: () => view.toEnd() });
  }

  /** Draws the line soon. */
  plan() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, this.el.firstChild ? pause : 0);
  }

  draw() {
    const { view } = this;
    const { rows, recording, read } = view;
    const all = recording ? Math.max(recording.last, read) : read;
    const parts = [];
    if (!view.idle && !view.problem && !view.lost) parts.push(`Reading ${count(read)} of ${count(all)} frames …`);
    else if (view.query && !view.refused) parts.push(this.#found(all));
    else parts.push(plural(all, 'frame'));
    if (rows.errors > 0) parts.push(this.#link('bad', 'Next error (e)', () => view.nextError(1), '✕ ' + plural(rows.errors, 'error')));
    if (rows.orphans > 0) parts.push(this.#link('bad', 'Next (e)', () => view.nextError(1), '✕ ' + plural(rows.orphans, 'response without a request', 'responses without a request')));
    const open = left > 0 ? [...rows.waiting].filter((i) => openAtEnd(rows, i)).length : 0;
    if (open > 0) parts.push(`◌ ${plural(open, 'call')} open at the end of this part`);
    if (rows.waiting.size > open) {
      const text = `◌ ${plural(rows.waiting.size - open, 'call')} ${view.over ? 'unanswered' : 'pending'}`;
      parts.push(saved ? text : this.#link(view.over ? 'bad' : 'dim', 'Show only those', () => view.filter.set('is:pending'), text));
    }
    if (rows.cancelled.size > 0) {
      const text = `⊘ ${plural(rows.cancelled.size, 'call')} cancelled`;
      parts.push(saved ? text : this.#link('odd', 'Show only those', () => view.filter.set('is:cancelled'), text));
    }
    const hidden = view.http.draw(view);
    if (hidden) parts.push(this.#link('dim', 'Show them (h)', () => view.http.toggle(), hidden));
    view.sessions.see(rows.sessions);
    if (rows.sessions.size > 1) parts.push(plural(rows.sessions.size, 'session'));
    keepFocus(this.el, () => fill(this.el, h('span', { class: 'counts' }, parts.map((p) => h('span', null, p))), h('span', { class: 'hint' }, h('kbd', null, '?'), ' keys')), () => view.scroller);
    this.#news();
  }

  // What the filter has found.
  #found(frames) {
    const { rows, calls, total } = this.view;
    const found = calls ? rows.order.subarray(0, rows.shown).filter((i) => rows.begins(i)).length : 0;
    if (calls && total > 0 && (found > 0 || rows.shown === 0)) return `${count(found)} of ${plural(total, 'call')}`;
    return `${plural(rows.shown, 'row')} of ${plural(frames, 'frame')}`;
  }

  #link(look, title, act, text) {
    return h('button', { type: 'button', class: 'link ' + look, title, onclick: act }, text);
  }

  // Lines that have arrived while the list is scrolled up.
  #news() {
    const { view } = this;
    if (view.list?.follow) view.news = 0;
    const news = view.list && !view.over ? view.news : 0;
    this.pill.hidden = news === 0;
    this.pill.textContent = `↓ ${count(news)} new`;
    if (news === 0 || news === this.announced) return;
    this.announced = news;
    this.announcing ??= setTimeout(() => {
      this.announcing = undefined;
      if (!this.pill.hidden) announce(`${this.announced} new`);
    }, quiet);
  }
}
