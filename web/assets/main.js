// The page: the current view, and its state in the URL.

import { Compare, comparePath } from './compare.js';
import { h } from './dom.js';
import { toggleHelp } from './help.js';
import { Home } from './home.js';
import { listenToKeys } from './keys.js';
import { pick } from './pick.js';
import { RecordingView } from './recording.js';
import * as api from './source.js';
import { startTheme, toggleTheme } from './theme.js';

const root = document.getElementById('page');
let view;

// The cookie replaces the token, which should not be visible, copied or kept in the history.
function forgetToken() {
  const url = new URL(location.href);
  if (!url.searchParams.has('token')) return;
  url.searchParams.delete('token');
  history.replaceState(null, '', url);
}

function show() {
  view?.destroy();
  const url = new URL(location.href);
  const key = url.pathname.startsWith('/r/') ? decodeURIComponent(url.pathname.slice(3)) : '';
  if (url.pathname === '/compare') {
    view = new Compare(root, Object.fromEntries(url.searchParams), go);
    return;
  }
  if (!key) {
    view = new Home(root, (k) => go('/r/' + encodeURIComponent(k)), compareWith);
    return;
  }
  view = new RecordingView(root, key, { ...Object.fromEntries(url.searchParams), unknown: url.hash }, (state) => (state ? remember(state) : go('/')));
  view.summary.compare = () => compareWith(key);
  const { summary } = view;
  api.formats().then((formats) => {
    summary.formats = formats;
    if (summary.rec) summary.show(summary.rec);
  }, () => {});
  view.focus();
}

const compareWith = (key) => pick(key, (other) => go(comparePath(other === key ? { a: key, b: key, as: 1, bs: 2 } : { a: key, b: other })));

function go(path) {
  history.pushState(null, '', path);
  show();
}

// The state of the view is in the URL, so that links show the same view. Only a change of the
// view adds an entry to the history.
function remember(state) {
  const url = new URL(location.href);
  const before = url.searchParams.get('v') ?? '';
  url.hash = '';
  url.search = new URLSearchParams(Object.entries(state).filter(([, v]) => v)).toString();
  if (url.href === location.href) return;
  if (before !== state.v) history.pushState(null, '', url);
  else history.replaceState(null, '', url);
}

startTheme();
forgetToken();
document.getElementById('top').append(
  h('a', { href: '/', class: 'brand', title: 'All recordings (r)', onclick: (e) => { if (e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault(); go('/'); } },
    h('img', { src: '/assets/icon.svg', alt: '', width: '20', height: '20' }), 'mcptap'),
  h('span', { class: 'space' }),
  h('button', { type: 'button', class: 'quiet', title: 'Light or dark (t)', 'aria-label': 'Light or dark', onclick: toggleTheme }, '◐'),
  h('button', { type: 'button', class: 'quiet', title: 'Keys and filters (?)', 'aria-label': 'Keys and filters', onclick: toggleHelp }, '?'));
window.addEventListener('popstate', show);
listenToKeys(() => view, () => location.pathname !== '/' && go('/'));
show();
