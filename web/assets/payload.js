// The bytes of a frame, loaded in pieces on demand: a frame may be 64 MiB.

import * as api from './source.js';

const firstPiece = 256 << 10;
const nextPiece = 4 << 20;

export class Payload {
  bytes = new Uint8Array(0);
  #text = null;

  /** part is raw or payload (the data of a server-sent event). */
  constructor(key, seq, part, total) {
    Object.assign(this, { key, seq, part, total });
  }

  get whole() {
    return this.bytes.length >= this.total;
  }

  get rest() {
    return this.total - this.bytes.length;
  }

  /** Loads the first bytes, or the next ones. */
  async load(signal) {
    const from = this.bytes.length;
    const to = Math.min(this.total, from + (from === 0 ? firstPiece : nextPiece));
    if (to === from) return;
    const piece = await api.bytes(this.key, this.seq, this.part, from, to, signal);
    if (piece.length === 0) {
      this.total = from;
      return;
    }
    const joined = new Uint8Array(from + piece.length);
    joined.set(this.bytes);
    joined.set(piece, from);
    this.bytes = joined;
    this.#text = null;
  }

  /** The loaded bytes as text; bytes that are not UTF-8 become U+FFFD. */
  get text() {
    this.#text ??= new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.bytes);
    return this.#text;
  }

  /** Whether the bytes look like binary data. */
  get binary() {
    const n = Math.min(this.bytes.length, 4096);
    let odd = 0;
    for (let i = 0; i < n; i++) {
      const b = this.bytes[i];
      if (b === 0) return true;
      if (b < 32 && b !== 9 && b !== 10 && b !== 13 && b !== 27) odd++;
    }
    return odd > n / 20;
  }
}
