// The dialog that chooses a recording to compare with.

import * as api from './source.js';
import { fill, h } from './dom.js';
import { party, revision } from './summary.js';
import { started } from './text.js';

const most = 60; // recordings in the list
const own = 'Its own sessions';

/**
 * Opens the dialog for the recording of a key. It calls chosen with the key of the other
 * recording, which may be the same, to compare its own sessions.
 */
export async function pick(key, chosen) {
  const input = h('input', { type: 'text', placeholder: 'Find by name, server or id', 'aria-label': 'Find a recording', spellcheck: 'false', autocomplete: 'off', oninput: () => draw() });
  const list = h('div', { class: 'choices' }, h('p', { class: 'note' }, 'Loading …'));
  const dialog = h('dialog', { class: 'help pick', 'aria-label': 'Compare with', onclick: (e) => e.target === dialog && dialog.close(), onclose: () => dialog.remove() },
    h('div', { class: 'sheet' }, h('header', null, h('h2', null, 'Compare with …'), h('button', { type: 'button', class: 'quiet close', 'aria-label': 'Close', onclick: () => dialog.close() }, '✕')), input, list));
  let all = [];
  const draw = () => {
    const word = input.value.trim().toLowerCase();
    const found = all.filter((r) => [r.key === key ? own : r.label, r.id, r.key, r.server.name, r.server.title, r.client.name].some((t) => t?.toLowerCase().includes(word)));
    fill(list, found.slice(0, most).map((r) => h('button', { type: 'button', onclick: () => { dialog.close(); chosen(r.key); } },
      h('span', null, h('b', null, r.key === key ? own : r.label || r.key), ' ', h('span', { class: 'note' }, r.replay_of ? `${r.id}, a replay` : r.id)), h('span', null, party(r.server, '–')), h('span', { class: 'note' }, revision(r)), h('span', { class: 'note' }, started(new Date(r.start))))),
    found.length === 0 && h('p', { class: 'note' }, all.length === 0 ? 'No other recordings.' : 'No match.'),
    found.length > most && h('p', { class: 'note' }, `and ${found.length - most} more`));
  };
  dialog.addEventListener('keydown', (e) => {
    const buttons = [...list.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement);
    if (e.key === 'ArrowDown') buttons[Math.min(at + 1, buttons.length - 1)]?.focus();
    else if (e.key === 'ArrowUp') (buttons[at - 1] ?? input).focus();
    else if (e.key === 'Enter' && e.target === input) buttons[0]?.click();
    else return;
    e.preventDefault();
  });
  document.body.append(dialog);
  dialog.showModal();
  input.focus();
  try {
    const { recordings } = await api.recordings();
    const mine = recordings.find((r) => r.key === key);
    const near = (r) => (r.label === mine?.label ? 0 : 2) + (r.server.name && r.server.name === mine?.server.name ? 0 : 1);
    all = recordings.filter((r) => (r.key !== key || r.sessions > 1) && r.status !== 'damaged' && r.status !== 'denied').sort((x, y) => near(x) - near(y));
    draw();
  } catch (err) {
    fill(list, h('p', { class: 'fault' }, err.message));
  }
}
