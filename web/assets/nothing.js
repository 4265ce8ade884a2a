// The text shown instead of an empty list.

import { fill, h } from './dom.js';

export class Nothing {
  el = h('div', { class: 'empty', hidden: true });

  constructor(view) {
    this.view = view;
  }

  draw() {
    const { view } = this;
    const none = view.lines.length === 0 && !view.refused;
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
    if ((view.problem || view.lost) && !view.idle) return ['No frames were read.', ''];
    if (!view.idle) return ['Reading …', ''];
    if (view.query) return ['Nothing matches this filter.', ''];
    if (view.over) return ['The recording has no frames.', 'The server was not started, or no messages were sent.'];
    return ['No messages yet.', 'Messages of the client and the server appear here as they are sent.'];
  }
}
