// A list of any length with elements only for the visible lines. Positions are in lines, because
// browsers limit the height of an element (Chromium to 33.5 million pixels, Firefox to 17.9). A
// longer list has a pad of the maximum height: small steps scroll by pixels, jumps
// proportionally.

const maxHeight = 12e6;

export class List {
  /**
   * el scrolls. count() is the number of lines, make() creates the element of a line,
   * draw(element, line) fills it. painted(first, last) is called after the visible lines
   * were drawn.
   */
  constructor(el, { lineHeight, count, make, draw, painted, moved }) {
    Object.assign(this, { el, lineHeight, count, make, draw, painted, moved });
    this.pad = document.createElement('div');
    this.pad.className = 'pad';
    this.pad.setAttribute('role', 'presentation');
    el.append(this.pad);
    this.pool = new Map(); // line → element
    this.spare = [];
    this.n = 0;
    this.top = 0; // the line at the upper edge, with a fraction
    this.follow = false;
    this.lastScroll = 0;
    el.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(el);
    this.#measure();
  }

  // The height for lines: headers above the pad stay visible.
  #measure() {
    const above = this.pad.getBoundingClientRect().top - this.el.getBoundingClientRect().top + this.el.scrollTop;
    this.height = Math.max(0, this.el.clientHeight - above);
  }

  /** Removes the list. */
  close() {
    this.sizes.disconnect();
    this.closed = true;
    this.pad.remove();
  }

  #resized() {
    const tail = this.follow || this.atEnd();
    this.#measure();
    if (tail && this.follow) this.toEnd();
    this.repaint();
  }

  get visible() {
    return this.height / this.lineHeight;
  }

  get lastTop() {
    return Math.max(0, this.n - this.visible);
  }

  #scrolled() {
    const now = this.el.scrollTop;
    const step = now - this.lastScroll;
    this.lastScroll = now;
    if (step === 0) return;
    if (!this.scaled) this.top = now / this.lineHeight;
    else if (Math.abs(step) < this.height * 1.5 && now > 0 && now < this.padHeight - this.height - 1) {
      this.top = clamp(this.top + step / this.lineHeight, 0, this.lastTop);
    } else this.top = clamp((now / (this.padHeight - this.height)) * this.lastTop, 0, this.lastTop);
    if (step < -1) this.follow = false;
    else if (this.atEnd()) this.follow = true;
    this.moved?.();
    this.repaint();
  }

  atEnd() {
    return this.top >= this.lastTop - 1;
  }

  /** Draws the lines in the next animation frame. */
  repaint() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      if (!this.closed) this.#paint();
    });
  }

  #paint() {
    this.n = this.count();
    const want = this.n * this.lineHeight;
    this.scaled = want > maxHeight;
    this.padHeight = Math.min(want, maxHeight);
    if (this.paddedTo !== this.padHeight) {
      // Before setting scrollTop, which the browser limits to the height.
      this.pad.style.height = this.padHeight + 'px';
      this.paddedTo = this.padHeight;
    }
    if (this.follow) this.top = this.lastTop;
    this.top = clamp(this.top, 0, this.lastTop);
    this.#place();
    const first = Math.max(0, Math.floor(this.top) - 4);
    const last = Math.min(this.n, Math.ceil(this.top + this.visible) + 4);
    for (const [line, el] of this.pool) {
      if (line < first || line >= last) {
        this.pool.delete(line);
        this.spare.push(el);
      }
    }
    const origin = this.el.scrollTop - this.top * this.lineHeight;
    for (let line = first; line < last; line++) {
      let el = this.pool.get(line);
      if (!el) {
        el = this.spare.pop() ?? this.make();
        this.pool.set(line, el);
        if (!el.isConnected) this.pad.append(el);
        el.hidden = false;
      }
      const y = this.scaled ? Math.round(origin + line * this.lineHeight) : line * this.lineHeight;
      if (el.y !== y) {
        el.style.transform = `translateY(${y}px)`;
        el.y = y;
      }
      this.draw(el, line);
    }
    for (const el of this.spare) el.hidden = true;
    this.painted?.(Math.floor(this.top), Math.min(this.n, Math.ceil(this.top + this.visible)));
  }

  // Moves the scroll bar to top.
  #place() {
    let want = this.top * this.lineHeight;
    if (this.scaled) {
      const here = this.el.scrollTop;
      want = this.lastTop > 0 ? (this.top / this.lastTop) * (this.padHeight - this.height) : 0;
      // During small steps the bar may be slightly off; correcting it would disturb the
      // scrolling.
      if (Math.abs(want - here) < this.height * 4 && here > 0 && here < this.padHeight - this.height - 1) want = here;
    }
    if (Math.abs(this.el.scrollTop - want) >= 1) {
      this.el.scrollTop = want;
      this.lastScroll = this.el.scrollTop;
    }
  }

  /** Scrolls as little as needed to show a line. */
  reveal(line, middle = false) {
    this.n = this.count();
    const before = this.top;
    if (middle && (line < this.top || line > this.top + this.visible - 1)) this.top = line - this.visible / 2;
    else if (line < this.top) this.top = line;
    else if (line > this.top + this.visible - 1) this.top = line - this.visible + 1;
    this.top = clamp(this.top, 0, this.lastTop);
    if (this.top < before) this.follow = false;
    this.repaint();
  }

  toEnd() {
    this.n = this.count();
    this.follow = true;
    this.top = this.lastTop;
    this.moved?.();
    this.repaint();
  }

  toStart() {
    this.follow = false;
    this.top = 0;
    this.moved?.();
    this.repaint();
  }
}

const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);
