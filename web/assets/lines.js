// The lines of a list: the row of each, and its depth. In the frame view, lines are in row
// order. In the call view, a call has one line, with nested calls below it and, while it is
// expanded, its other messages. Rows without a call are in order. The sequence has all rows
// except those about HTTP itself.

import { mark } from './rows.js';

export class Lines {
  #rows;
  #calls;
  #leave;
  #line = new Uint32Array(1024); // the row of each line
  #place = new Int32Array(1024); // the line of each row, -1 for none
  #n = 0;
  #read = 0; // how many rows of the order have been read
  #version = 0;
  #dirty = false;
  open = new Set(); // the rows of calls whose messages are shown

  #plain; // lines are in row order

  /** leave(row) reports whether a row is omitted; null omits none. */
  constructor(rows, calls, leave) {
    this.#rows = rows;
    this.#calls = calls;
    this.#leave = leave;
    this.#plain = !calls && !leave;
  }

  get length() {
    return this.#plain ? this.#rows.shown : this.#n;
  }

  /** The row on a line. */
  row(line) {
    return this.#plain ? this.#rows.order[line] : this.#line[line];
  }

  /** The line of a row, or of the call that it is folded into; -1 for none. */
  lineOf(row) {
    if (row < 0) return -1;
    const rows = this.#rows;
    if (this.#plain) {
      const k = rows.place(rows.id[row]);
      return k < rows.shown && rows.order[k] === row ? k : -1;
    }
    const most = this.#calls ? 64 : 1; // without calls nothing is folded
    for (let i = row, hops = 0; i >= 0 && hops < most; i = rows.under[i], hops++) if (i < this.#place.length && this.#place[i] >= 0) return this.#place[i];
    return -1;
  }

  /** The indentation of a line. */
  depth(line) {
    const i = this.row(line);
    const rows = this.#rows;
    return rows.depth[i] + (this.#calls && rows.under[i] >= 0 && !rows.begins(i) ? 1 : 0);
  }

  /** Whether a line can be expanded. */
  opens(line) {
    const i = this.row(line);
    return this.#calls && this.#rows.begins(i) && this.#rows.kid[i] >= 0;
  }

  toggle(line, open = !this.open.has(this.row(line))) {
    const i = this.row(line);
    if (open === this.open.has(i) || !this.opens(line)) return false;
    if (open) this.open.add(i);
    else this.open.delete(i);
    this.#dirty = true;
    return true;
  }

  openAll(open) {
    this.open.clear();
    if (open) for (let k = 0; k < this.#rows.shown; k++) if (this.#rows.begins(this.#rows.order[k])) this.open.add(this.#rows.order[k]);
    this.#dirty = true;
  }

  /** Adds new rows. Returns whether lines other than the last ones have changed. */
  update() {
    if (this.#plain) return false;
    const rows = this.#rows;
    if (this.#place.length < rows.n) this.#place = grown(this.#place, rows.n, -1);
    if (this.#line.length < rows.n) this.#line = grown(this.#line, rows.n);
    let rebuild = this.#dirty || this.#version !== rows.version;
    for (let k = this.#read; !rebuild && k < rows.shown; k++) {
      const i = rows.order[k];
      const up = this.#calls ? rows.under[i] : -1;
      // A nested call, or a message of an expanded call, is between other lines.
      if (up >= 0) rebuild = rows.begins(i) || this.open.has(up);
      else if (!this.#left(i)) this.#push(i);
    }
    if (rebuild) this.#rebuild();
    this.#read = rows.shown;
    this.#version = rows.version;
    this.#dirty = false;
    return rebuild;
  }

  #left(i) {
    return this.#leave?.(i);
  }

  #push(i) {
    this.#line[this.#n] = i;
    this.#place[i] = this.#n++;
  }

  #rebuild() {
    const rows = this.#rows;
    this.#place.fill(-1);
    this.#n = 0;
    const stack = [];
    for (let k = 0; k < rows.shown; k++) {
      const top = rows.order[k];
      if ((this.#calls && rows.under[top] >= 0) || this.#place[top] >= 0 || this.#left(top)) continue;
      this.#push(top);
      if (!this.#calls || rows.kid[top] < 0) continue;
      // Depth first, without recursion, because calls can be nested to any depth.
      stack.push(rows.kid[top]);
      while (stack.length > 0) {
        const i = stack.pop();
        if (rows.sibling[i] >= 0) stack.push(rows.sibling[i]);
        if (this.#place[i] >= 0 || rows.marks[i] & mark.gone) continue;
        if (rows.begins(i) || this.open.has(rows.under[i])) this.#push(i);
        if (rows.begins(i) && rows.kid[i] >= 0) stack.push(rows.kid[i]);
      }
    }
  }
}

function grown(old, least, filler) {
  const bigger = new old.constructor(Math.max(least, old.length * 2));
  if (filler !== undefined) bigger.fill(filler, old.length);
  bigger.set(old);
  return bigger;
}
