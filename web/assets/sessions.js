// The choice of one session, where a recording has several. It is a word of the
// filter, so that it stands in the link like the rest.

import { fill, h } from './dom.js';
import { saved } from './source.js';

const word = /(^|\s)session:(\d+)(?=\s|$)/;
const most = 200;

export class SessionChoice {
  constructor(filter) {
    this.filter = filter;
    this.known = new Set();
    this.el = h('select', { class: 'sessions', hidden: true, 'aria-label': 'Session', onchange: () => this.#choose() });
  }

  /** Takes note of the sessions that there are, and of the filter. */
  see(sessions) {
    if (saved) return;
    const chosen = this.filter.applied.match(word)?.[2] ?? '';
    const before = this.known.size;
    for (const n of sessions) if (n > 0) this.known.add(n);
    if (chosen) this.known.add(Number(chosen));
    this.el.hidden = this.known.size < 2 && !chosen;
    if (this.known.size !== before) {
      const all = [...this.known].sort((a, b) => a - b).slice(0, most);
      fill(this.el, h('option', { value: '' }, 'All sessions'), all.map((n) => h('option', { value: String(n) }, 'Session ' + n)));
    }
    if (this.el.value !== chosen) this.el.value = chosen;
  }

  #choose() {
    const rest = this.filter.applied.replace(word, '$1').trim();
    this.filter.set(this.el.value ? `session:${this.el.value} ${rest}`.trim() : rest);
  }
}
