// Rows that only show how HTTP carries messages. Views omit them; in the frame list a button
// shows them.

import { h } from './dom.js';
import { count } from './text.js';

export class HTTPRows {
  /** changed() is called when they are shown or hidden. */
  constructor(on, changed) {
    this.on = on;
    this.changed = changed;
    this.el = h('button', { type: 'button', class: 'toggle', hidden: true, title: 'Show HTTP frames (h)', onclick: () => this.toggle() }, 'HTTP');
  }

  toggle() {
    if (this.el.hidden) return;
    this.on = !this.on;
    this.changed();
  }

  /**
   * Returns a test for the rows that a view omits, or null. With a filter, all matches are shown, in the
   * call view except failures that a call shows.
   */
  left({ rows, mode, query }) {
    if (mode === 'calls') return (i) => rows.isAside(i) && (!query || rows.failed(i));
    if (query) return null;
    if (mode === 'sequence') return (i) => rows.envelope(i);
    return this.on ? null : (i) => rows.isPlumbing(i);
  }

  /** Draws the button, and returns how many frames are hidden, in words. */
  draw({ rows, mode, query }) {
    const n = mode === 'frames' && !query ? rows.plumbing : 0;
    this.el.hidden = n === 0;
    this.el.setAttribute('aria-pressed', String(this.on));
    if (n === 0 || this.on) return '';
    return n === 1 ? '1 HTTP frame is hidden' : `${count(n)} HTTP frames are hidden`;
  }
}
