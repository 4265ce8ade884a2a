// The clipboard, downloads and menus.

import { announce, h } from './dom.js';

/** Copies a text to the clipboard. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Over plain HTTP from another machine the clipboard API is not available.
    const area = h('textarea', { class: 'offstage', 'aria-hidden': 'true', tabindex: '-1' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast('Copied ' + what);
}

let shownToast;

/** Shows a text briefly. */
export function toast(text) {
  shownToast?.remove();
  shownToast = h('div', { class: 'toast' }, text);
  document.body.append(shownToast);
  announce(text);
  const mine = shownToast;
  setTimeout(() => mine.remove(), 2200);
}

/** Quotes a word for a shell. */
export const shellQuote = (s) => (/^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", "'\\''")}'`);

const dataDir = document.querySelector('meta[name=data-dir]')?.content ?? '';

/** A command of mcptap, with --dir if the data directory is not the default. */
export const command = (verb, ...args) => ['mcptap', verb, ...(dataDir ? ['--dir', dataDir] : []), ...args].map(shellQuote).join(' ');

/** The argument that names a recording in commands. */
export const argOf = (rec) => rec.arg || rec.id || rec.key;

/** Saves the content of a URL. */
export function save(url) {
  const a = h('a', { href: url, download: '' });
  document.body.append(a);
  a.click();
  a.remove();
}

/**
 * Makes a button that opens a menu. items() returns [{text, note, act}] whenever it opens.
 */
export function menuButton(label, title, items) {
  let list;
  const close = (focus) => {
    list?.remove();
    list = null;
    button.setAttribute('aria-expanded', 'false');
    document.removeEventListener('pointerdown', outside, true);
    if (focus) button.focus();
  };
  const outside = (e) => {
    if (!list?.contains(e.target) && e.target !== button) close(false);
  };
  const open = () => {
    list = h('div', { class: 'menu', role: 'menu', 'aria-label': title });
    for (const it of items()) {
      list.append(h('button', { type: 'button', role: 'menuitem', onclick: () => { close(true); it.act(); } },
        h('span', null, it.text), it.note && h('span', { class: 'note' }, it.note)));
    }
    list.addEventListener('keydown', (e) => {
      const all = [...list.children];
      const at = all.indexOf(document.activeElement);
      if (e.key === 'ArrowDown') all[(at + 1) % all.length].focus();
      else if (e.key === 'ArrowUp') all[(at - 1 + all.length) % all.length].focus();
      else if (e.key === 'Escape' || e.key === 'Tab') close(true);
      else if (e.key !== 'Enter' && e.key !== ' ') return;
      else return e.stopPropagation();
      e.preventDefault();
      e.stopPropagation();
    });
    wrap.append(list);
    button.setAttribute('aria-expanded', 'true');
    list.firstChild?.focus();
    document.addEventListener('pointerdown', outside, true);
  };
  const button = h('button', {
    type: 'button', class: 'quiet', title, 'aria-haspopup': 'menu', 'aria-expanded': 'false', onclick: () => (list ? close(true) : open()),
  }, label);
  const wrap = h('span', { class: 'menu-wrap' }, button);
  wrap.open = open;
  return wrap;
}
