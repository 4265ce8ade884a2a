// The help on keys and filters.

import * as api from './source.js';
import { fill, h } from './dom.js';

const keys = [
  ['Move', [['j k ↓ ↑', 'next, previous'], ['g G', 'first, last (and follow)'], ['PgDn PgUp', 'a page'], ['e E', 'next, previous error'], ['m', 'to the response or the request']]],
  ['Look', [['Enter', 'open the frame, then enter it'], ['Esc', 'back, close'], ['→ ← Space', 'open or close a call'], ['* -', 'open or close all calls'], ['1 2 3 4 5', 'calls, frames, sequence, statistics, findings'], ['[ ]', 'previous, next tab of the frame'], ['h', 'in frames: show HTTP frames']]],
  ['Do', [['/', api.saved ? 'search' : 'filter'], ['c', api.saved ? 'clear the search' : 'clear the filter'], ['y', 'copy the frame, or the value in the tree'], ['p', 'copy the path in the tree'], ...(api.saved ? [] : [['d', 'compare with another recording']]), ['t', 'light or dark'], ['r', 'all recordings'], ['?', 'this help']]],
];

let dialog;

/** Opens or closes the help. */
export function toggleHelp() {
  if (dialog?.open) {
    dialog.close();
    return;
  }
  const language = h('div', { class: 'language' }, h('p', { class: 'note' }, 'Loading …'));
  dialog?.remove();
  dialog = h('dialog', { class: 'help', 'aria-label': 'Help', onclick: (e) => e.target === dialog && dialog.close() },
    h('div', { class: 'sheet' },
      h('header', null, h('h2', null, 'Keys'), h('button', { type: 'button', class: 'quiet close', 'aria-label': 'Close', onclick: () => dialog.close() }, '✕')),
      h('div', { class: 'key-lists' }, keys.map(([title, list]) => h('section', null, h('h3', null, title), h('dl', null, list.map(([k, what]) => [h('dt', null, k.split(' ').map((one) => h('kbd', null, one))), h('dd', null, what)]))))),
      api.saved ? [h('h2', null, 'Search'), h('p', null, 'Finds words in rows and frames. A "phrase in quotes" is one word; -word excludes. The language of filters needs mcptap.')]
        : [h('h2', null, 'Filters'), language]));
  document.body.append(dialog);
  dialog.showModal();
  api.filterHelp().then((sections) => fill(language, sections.map((s) => h('section', null, h('h3', null, s.title),
    h('table', null, h('tbody', null, s.lines.map((l) => h('tr', null, h('th', { scope: 'row' }, h('code', null, l.form)), h('td', null, l.means), h('td', { class: 'examples' }, (l.examples ?? []).map((x) => h('code', null, x)))))))))),
  (err) => fill(language, h('p', { class: 'fault' }, err.message)));
}
