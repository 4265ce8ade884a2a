// The strip next to the list: the positions of errors, unanswered calls and the viewport. A
// click scrolls there.

import { h } from './dom.js';

export class Ruler {
  constructor(view) {
    this.view = view;
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.thumb = h('div', { class: 'thumb' });
    this.el = h('div', { class: 'ruler', 'aria-hidden': 'true', title: 'errors', onpointerdown: (e) => this.#jump(e) }, this.canvas, this.thumb);
    this.sizes = new ResizeObserver(() => this.draw());
    this.sizes.observe(this.el);
  }

  close() {
    this.sizes.disconnect();
    clearTimeout(this.timer);
  }

  #jump(e) {
    const { list, lines } = this.view;
    const box = this.el.getBoundingClientRect();
    list.follow = false;
    list.top = ((e.clientY - box.top) / box.height) * lines.length - list.visible / 2;
    list.repaint();
  }

  /** Draws the marks, at most four times a second. */
  draw() {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.#draw();
    }, this.drawn ? 250 : 0);
  }

  #draw() {
    const { lines } = this.view;
    const { width, height } = this.el.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const ctx = this.canvas.getContext('2d');
    const look = getComputedStyle(this.el); // its styles hold the colours of the marks
    const bad = look.color;
    const odd = look.outlineColor;
    const n = lines?.length ?? 0;
    this.drawn = n > 0;
    let lastBad = -1;
    let lastOdd = -1;
    for (let line = 0; line < n; line++) {
      const i = lines.row(line);
      const y = Math.floor((line / n) * height * ratio);
      if (this.view.bad(i)) {
        if (y > lastBad) {
          ctx.fillStyle = bad;
          ctx.fillRect(0, y, width * ratio, 2 * ratio);
          lastBad = y;
        }
      } else if (y > lastOdd && this.view.unanswered(i)) {
        ctx.fillStyle = odd;
        ctx.fillRect(0, y, (width * ratio) / 2, 2 * ratio);
        lastOdd = y;
      }
    }
  }

  /** Shows the visible part. */
  window(first, last, n) {
    const all = n > 0 && last - first < n;
    this.thumb.hidden = !all;
    if (!all) return;
    this.thumb.style.top = (first / n) * 100 + '%';
    this.thumb.style.height = Math.max(((last - first) / n) * 100, 0.5) + '%';
  }
}
