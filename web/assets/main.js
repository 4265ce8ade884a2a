// The page: which view is shown, what stands in the URL, and the keys.

import { h } from './dom.js';
import { toggleHelp } from './help.js';
import { Home } from './home.js';
import { RecordingView, modes } from './recording.js';
import * as api from './source.js';
import { startTheme, toggleTheme } from './theme.js';

const root = document.getElementById('page');
let view;

// The token has made its way into the cookie; it need not be seen, copied or
// kept in the history.
function forgetToken() {
  const url = new URL(location.href);
  if (!url.searchParams.has('token')) return;
  url.searchParams.delete('token');
  history.replaceState(null, '', url);
}

function show() {
  view?.close_();
  const url = new URL(location.href);
  const key = url.pathname.startsWith('/r/') ? decodeURIComponent(url.pathname.slice(3)) : '';
  if (!key) {
    view = new Home(root, (k) => go('/r/' + encodeURIComponent(k)));
    return;
  }
  view = new RecordingView(root, key, Object.fromEntries(url.searchParams), (state) => (state ? remember(state) : go('/')));
  api.recordings().then((res) => {
    if (!view.summary) return;
    view.summary.formats = res.formats ?? [];
    if (view.summary.rec) view.summary.show(view.summary.rec);
  }, () => {});
  view.focus();
}

function go(path) {
  history.pushState(null, '', path);
  show();
}

// What is looked at stands in the URL, so that a link shows the same. Only going
// from a view to another makes a step to go back by.
function remember(state) {
  const url = new URL(location.href);
  const before = url.searchParams.get('v') ?? '';
  url.search = new URLSearchParams(Object.entries(state).filter(([, v]) => v)).toString();
  if (url.href === location.href) return;
  if (before !== state.v) history.pushState(null, '', url);
  else history.replaceState(null, '', url);
}

function typing(e) {
  return e.target.closest('input, textarea, select, [contenteditable]');
}

const everywhere = {
  '?': toggleHelp,
  t: toggleTheme,
  r: () => location.pathname !== '/' && go('/'),
};

const inRecording = {
  '/': (v) => { v.filter.input.focus(); v.filter.input.select(); },
  j: (v) => v.move(1),
  k: (v) => v.move(-1),
  g: (v) => { v.list.toStart(); if (v.lines.length) v.select(v.rows.id[v.lines.row(0)]); },
  Home: (v) => v.list.toStart(),
  G: (v) => v.toEnd(),
  End: (v) => v.toEnd(),
  e: (v) => v.nextError(1),
  E: (v) => v.nextError(-1),
  m: (v) => v.mate(),
  c: (v) => v.filter.set(''),
  y: (v) => { const card = cardOf(v); if (card) inTree() ? card.copyValue() : card.copyRaw(); },
  p: (v) => cardOf(v)?.copyPath(),
  ' ': (v) => v.selectedLine >= 0 && v.toggle(v.selectedLine),
  '*': (v) => { v.lines.openAll(true); v.list.repaint(); },
  '-': (v) => { v.lines.openAll(false); v.list.repaint(); },
  '[': (v) => stepTab(v, -1),
  ']': (v) => stepTab(v, 1),
  Enter: (v) => enter(v),
  Escape: (v) => escape(v),
};

const inTree = () => document.activeElement?.closest('[role=tree]');

// The card that has the focus, or the one of the selected frame.
function cardOf(v) {
  const { cards } = v.detail;
  return cards.find((c) => c.el.contains(document.activeElement)) ?? cards.find((c) => c.el.classList.contains('current')) ?? cards[0];
}

function stepTab(v, by) {
  const loaded = [cardOf(v), ...v.detail.cards].find((c) => c?.tabs.children.length > 0);
  const tabs = [...(loaded?.tabs.children ?? [])];
  const at = tabs.findIndex((t) => t.getAttribute('aria-selected') === 'true');
  tabs[(at + by + tabs.length) % tabs.length]?.click();
}

function enter(v) {
  if (v.selectedLine < 0) v.move(1);
  else if (v.detailBox.hidden) v.select(v.selected);
  else v.detailBox.querySelector('[role=treeitem][tabindex="0"], .card-body [tabindex="0"]')?.focus();
}

function escape(v) {
  if (v.detailBox.contains(document.activeElement)) v.focus();
  else if (!v.detailBox.hidden) v.close();
  else v.focus();
}

document.addEventListener('keydown', (e) => {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e)) return;
  if (document.querySelector('dialog[open]')) {
    if (e.key === '?') toggleHelp();
    return;
  }
  const button = e.target.closest('button, a, [role=tab]');
  if (button && (e.key === 'Enter' || e.key === ' ')) return;
  if (everywhere[e.key]) everywhere[e.key]();
  else if (view?.list || view?.setMode) {
    const n = Number(e.key);
    if (n >= 1 && n <= modes.length) view.setMode(modes[n - 1][0]);
    else if (inRecording[e.key] && (view.list || e.key === '/' )) inRecording[e.key](view);
    else return;
  } else return;
  e.preventDefault();
});

startTheme();
forgetToken();
document.getElementById('top').append(
  h('a', { href: '/', class: 'brand', title: 'All recordings (r)', onclick: (e) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); go('/'); } },
    h('img', { src: '/assets/icon.svg', alt: '', width: '20', height: '20' }), 'mcptap'),
  h('span', { class: 'space' }),
  h('button', { type: 'button', class: 'quiet', title: 'Light or dark (t)', 'aria-label': 'Light or dark', onclick: toggleTheme }, '◐'),
  h('button', { type: 'button', class: 'quiet', title: 'Keys and filters (?)', 'aria-label': 'Keys and filters', onclick: toggleHelp }, '?'));
window.addEventListener('popstate', show);
show();
