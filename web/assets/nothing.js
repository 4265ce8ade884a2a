// What stands where there are no lines: why, and what to do.

import { fill, h } from './dom.js';

export class Nothing {
  el = h('div', { class: 'empty', hidden: true });

  constructor(view) {
    this.view = view;
  }

  draw() {
    const { view } = this;
    const none = view.lines.length === 0;
    this.el.hidden = !none;
    if (!none) return;
    const words = this.#words();
    if (words.join() === this.words) return;
    this.words = words.join();
    const clear = view.query && view.idle ? h('button', { type: 'button', onclick: () => view.filter.set('') }, 'Clear the filter') : null;
    fill(this.el, h('p', { class: 'big' }, words[0]), words[1] && h('p', null, words[1]), clear);
  }

  #words() {
    const { view } = this;
    if ((view.problem || view.lost) && !view.idle) return ['Nothing was read.', ''];
    if (!view.idle) return ['Reading …', ''];
    if (view.query) return ['Nothing matches this filter.', ''];
    if (view.over) return ['The recording has no frames.', 'The server was not started, or nobody said anything.'];
    return ['Nothing has crossed yet.', 'What the client and the server say appears here as it crosses.'];
  }
}
