// The script of a saved page.

import { h } from './dom.js';
import { toggleHelp } from './help.js';
import { listenToKeys } from './keys.js';
import { RecordingView } from './recording.js';
import { left, recording } from './source.js';
import { count } from './text.js';
import { startTheme, toggleTheme } from './theme.js';

startTheme();
document.getElementById('top').append(
  h('span', { class: 'brand' }, 'mcptap'),
  h('span', { class: 'note' }, left > 0 ? `part of a recording: the first ${count(recording.last - left)} of ${count(recording.last)} frames` : 'a saved recording'),
  h('span', { class: 'space' }),
  h('button', { type: 'button', class: 'quiet', title: 'Light or dark (t)', 'aria-label': 'Light or dark', onclick: toggleTheme }, '◐'),
  h('button', { type: 'button', class: 'quiet', title: 'Keys (?)', 'aria-label': 'Keys', onclick: toggleHelp }, '?'));

// The state is in the fragment of the URL, which also works for files.
const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
if (location.hash && !['q', 'v', 'f', 'tab', 'http'].some((name) => name in state)) state.unknown = location.hash;
const remember = (now) => {
  const text = new URLSearchParams(Object.entries(now ?? {}).filter(([, v]) => v)).toString();
  if (text !== location.hash.slice(1)) history.replaceState(null, '', '#' + text);
};

const view = new RecordingView(document.getElementById('page'), recording.key, state, remember);
listenToKeys(() => view, () => {});
view.focus();
