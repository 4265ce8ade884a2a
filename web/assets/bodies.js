// The forms of a payload: formatted, as recorded, byte by byte. Each adds lines in batches of
// bounded size, and more when scrolled down.

import { h } from './dom.js';
import { lines } from './json.js';
import { show, size } from './text.js';

const firstLines = 300;
const moreLines = 1000;
const maxLine = 2000;

// Appends lines from an iterator, in batches, when the end comes into view.
function unroll(el, iterator, make) {
  const end = h('div', { class: 'note' }, '…');
  const batch = (n) => {
    const some = [];
    for (let i = 0; i < n; i++) {
      const { value, done } = iterator.next();
      if (done) {
        end.remove();
        watcher.disconnect();
        break;
      }
      some.push(make(value));
    }
    if (end.isConnected) end.before(...some);
    else el.append(...some);
  };
  const watcher = new IntersectionObserver((seen) => {
    if (seen.some((s) => s.isIntersecting)) batch(moreLines);
  }, { rootMargin: '600px' });
  el.append(end);
  batch(firstLines);
  if (end.isConnected) watcher.observe(end);
  return el;
}

/** Formatted JSON, one member per line. Only white space is changed. */
export function pretty(text) {
  const line = (tokens) => {
    const el = h('div', { class: 'line' });
    let room = maxLine;
    for (const [kind, t] of tokens) {
      const part = t.length > room ? t.slice(0, room) : t;
      el.append(kind ? h('span', { class: kind }, show(part)) : show(part));
      room -= part.length;
      if (part.length < t.length) {
        el.append(h('span', { class: 'note' }, ` … ${size(t.length - part.length)} more`));
        break;
      }
    }
    return el;
  };
  return unroll(h('div', { class: 'code', tabindex: '0', role: 'region', 'aria-label': 'formatted' }), lines(text), line);
}

/** The text as recorded, with invisible characters escaped. */
export function plain(text) {
  function* split() {
    for (let at = 0; at < text.length; ) {
      const end = text.indexOf('\n', at);
      const to = Math.min(end < 0 ? text.length : end + 1, at + maxLine);
      yield text.slice(at, to);
      at = to;
    }
  }
  const line = (s) => {
    const body = s.replace(/\r?\n$/, '');
    const ends = s.slice(body.length);
    return h('div', { class: 'line wrap' }, show(body), ends && h('span', { class: 'eol' }, ends === '\n' ? '↵' : '\\r↵'));
  };
  return unroll(h('div', { class: 'code', tabindex: '0', role: 'region', 'aria-label': 'as recorded' }), split(), line);
}

/** Bytes: the offset, 16 bytes in hexadecimal, and the same in ASCII. */
export function hex(bytes) {
  function* rows() {
    for (let at = 0; at < bytes.length; at += 16) yield at;
  }
  const row = (at) => {
    const some = bytes.subarray(at, at + 16);
    let digits = '';
    let ascii = '';
    for (let i = 0; i < 16; i++) {
      digits += i < some.length ? some[i].toString(16).padStart(2, '0') + ' ' : '   ';
      if (i === 7) digits += ' ';
      if (i < some.length) ascii += some[i] >= 32 && some[i] < 127 ? String.fromCharCode(some[i]) : '·';
    }
    return h('div', { class: 'line' }, h('span', { class: 'offset' }, at.toString(16).padStart(8, '0')), '  ' + digits + ' ', h('span', { class: 'ascii' }, ascii));
  };
  return unroll(h('div', { class: 'code hex', tabindex: '0', role: 'region', 'aria-label': 'bytes' }), rows(), row);
}
