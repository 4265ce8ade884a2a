// The keys. The list for the user is in help.js.

import { toggleHelp } from './help.js';
import { modes } from './recording.js';
import { toggleTheme } from './theme.js';

function typing(e) {
  return e.target.closest('input, textarea, select, [contenteditable]');
}

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
  d: (v) => v.summary.compare?.(),
  c: (v) => v.filter.set(''),
  h: (v) => v.http.toggle(),
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

const page = (v) => Math.max(1, Math.floor(v.list.visible) - 2);

// Keys that have another meaning outside the list.
const inList = {
  ArrowDown: (v) => v.move(1),
  ArrowUp: (v) => v.move(-1),
  PageDown: (v) => v.move(page(v)),
  PageUp: (v) => v.move(-page(v)),
  ArrowRight: (v) => v.selectedLine >= 0 && v.toggle(v.selectedLine, true),
  ArrowLeft: (v) => v.selectedLine >= 0 && v.toggle(v.selectedLine, false),
};

const inTree = () => document.activeElement?.closest('[role=tree]');

// The card that has the focus, or that of the selected frame.
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

/**
 * Handles the keys. view() is the current view, home() shows all recordings.
 */
export function listenToKeys(view, home) {
  const everywhere = { '?': toggleHelp, t: toggleTheme, r: home };
  document.addEventListener('keydown', (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e)) return;
    if (document.querySelector('dialog[open]')) {
      if (e.key === '?') toggleHelp();
      return;
    }
    if (e.target.closest('button, a, [role=tab]') && (e.key === 'Enter' || e.key === ' ')) return;
    if (!(everywhere[e.key] ? (everywhere[e.key](), true) : press(view(), e.key, e.target))) return;
    e.preventDefault();
  });
}

// Handles a key in the view of a recording. Returns whether it was handled.
function press(v, key, target) {
  if (v?.press) return v.press(key);
  if (!v?.setMode) return false;
  const n = Number(key);
  if (n >= 1 && n <= modes.length) {
    v.setMode(modes[n - 1][0]);
    return true;
  }
  const act = inRecording[key] ?? (v.scroller?.contains(target) ? inList[key] : null);
  if (!act || (!v.list && key !== '/')) return false;
  act(v);
  return true;
}
