// The selection of one session of several. It is a term of the filter, and thus part of the URL.

import { fill, h } from './dom.js';
import { saved } from './source.js';
import { count } from './text.js';

const word = /(^|\s)session:(\d+)(?=\s|$)/;
const most = 200;

export class SessionChoice {
  constructor(filter) {
    this.filter = filter;
    this.known = new Set();
    this.el = h('select', { class: 'sessions', hidden: true, 'aria-label': 'Session', onchange: () => this.#choose() });
  }

  /** The number of the session in the filter, "" for none. */
  get chosen() {
    return saved ? '' : this.filter.applied.match(word)?.[2] ?? '';
  }

  /** Whether the filter has other words. */
  get more() {
    return this.filter.applied.replace(saved ? '' : word, '').trim() !== '';
  }

  /** Updates the selection for the sessions in the rows and for the filter. */
  see(sessions) {
    if (saved) return;
    const { chosen } = this;
    const before = this.known.size;
    for (const n of sessions) if (n > 0) this.known.add(n);
    if (chosen) this.known.add(Number(chosen));
    this.el.hidden = this.known.size < 2 && !chosen;
    if (this.known.size !== before) {
      const all = [...this.known].sort((a, b) => a - b);
      const few = all.slice(0, most);
      if (chosen && !few.includes(Number(chosen))) few.push(Number(chosen));
      fill(this.el, h('option', { value: '' }, 'All sessions'), few.map((n) => h('option', { value: String(n) }, 'Session ' + n)),
        all.length > few.length && h('option', { disabled: true }, `and ${count(all.length - few.length)} more: session:N in the filter`));
    }
    if (this.el.value !== chosen) this.el.value = chosen;
  }

  #choose() {
    const rest = this.filter.applied.replace(word, '$1').trim();
    this.filter.set(this.el.value ? `session:${this.el.value} ${rest}`.trim() : rest);
  }
}
