// A JSON value as a tree that expands level by level. Each level shows a bounded number of
// members, each text a bounded number of characters, and more on demand.

import { h } from './dom.js';
import { nested, step } from './json.js';
import { count, plural, show, showLines, size } from './text.js';

const pageSize = 100; // members of a level at a time
const firstText = 600; // initial characters of a text
const moreText = 64 << 10;
const maxDepth = 100;

/** The number of lines that are initially expanded. */
const budget = 60;

/**
 * Creates the tree of a value. It calls on.focus({path, value}) when the focus moves.
 */
export function tree(value, label, on = {}) {
  const root = h('ul', { class: 'tree', role: 'tree', 'aria-label': label });
  const state = { on, root, budget };
  root.append(...levelOf(state, value, '', 1));
  root.addEventListener('keydown', (e) => keys(root, e));
  root.addEventListener('focusin', (e) => {
    const item = e.target.closest('[role=treeitem]');
    if (!item) return;
    root.querySelector('[role=treeitem][tabindex="0"]')?.setAttribute('tabindex', '-1');
    item.setAttribute('tabindex', '0');
    on.focus?.(item.at);
  });
  openBreadthFirst(state);
  root.querySelector('[role=treeitem]')?.setAttribute('tabindex', '0');
  return root;
}

// A scalar is a tree with one line.
function levelOf(state, value, path, level) {
  if (!value.container) return [item(state, null, value, path, level)];
  return members(state, value, path, level, 0);
}

function members(state, value, path, level, after) {
  const { found, next } = value.members(pageSize, after);
  const items = found.map(({ key, value: v }) => item(state, key, v, step(path, key), level));
  state.budget -= items.length;
  if (next) {
    items.push(more(`${plural(pageSize, 'more member')} …`, (li) => {
      const rest = members(state, value, path, level, next);
      li.replaceWith(...rest);
      rest[0]?.focus();
    }));
  } else if (value.cut) items.push(h('li', { class: 'note', role: 'none' }, 'truncated here: load more of the frame to continue'));
  return items;
}

function more(text, act) {
  const li = h('li', { role: 'none', class: 'note' });
  li.append(h('button', { class: 'link', type: 'button', onclick: () => act(li) }, text));
  return li;
}

// One member: its key and its value, or a summary for a container.
function item(state, key, value, path, level) {
  const li = h('li', { role: 'treeitem', tabindex: '-1', 'aria-level': level });
  li.at = { path, value };
  const head = h('div', { class: 'node' });
  li.append(head);
  if (value.container && !value.empty) {
    li.setAttribute('aria-expanded', 'false');
    head.append(h('span', { class: 'twisty', 'aria-hidden': 'true' }));
    head.addEventListener('click', () => {
      if (getSelection()?.isCollapsed !== false) toggle(state, li, level);
    });
    li.toggle = (open) => toggle(state, li, level, open);
  } else head.append(h('span', { class: 'twisty none', 'aria-hidden': 'true' }));
  if (key !== null) head.append(h('span', { class: typeof key === 'number' ? 'index' : 'key' }, show(String(key))), h('span', { class: 'colon' }, ': '));
  head.append(...shown(state, li, value, path, level));
  return li;
}

// Strings that look like other values are quoted: the id "3" is not the id 3.
const likeOther = /^(true|false|null|-?\d[\d.eE+-]{0,400})?$/;

// The value in the member's line.
function shown(state, li, value, path, level) {
  if (value.container) {
    if (value.empty) return [h('span', { class: 'summary' }, value.type === 'object' ? '{}' : '[]')];
    return [summary(value)];
  }
  if (value.type !== 'string') return [h('span', { class: value.type === 'number' ? 'number' : 'word' }, show(value.raw.slice(0, 2000)))];
  const text = value.string;
  const out = [likeOther.test(text) ? h('span', { class: 'string' }, `"${text}"`) : textOf(text)];
  const inner = level < maxDepth ? nested(text) : null;
  if (inner) out.push(' ', insideButton(state, li, inner, path, level));
  if (value.cut) out.push(h('span', { class: 'note' }, ' truncated'));
  return out;
}

// The summary of a collapsed container.
function summary(value) {
  const { found, next } = value.members(6);
  const n = next ? value.size(1000) : found.length;
  const words = n < 0 ? 'over 1,000' : count(n);
  const el = h('span', { class: 'summary' });
  el.classList.add(value.type);
  if (value.type === 'array') el.textContent = `[ ${words} ]`;
  else {
    const names = found.slice(0, 4).map((m) => String(m.key)).join(', ');
    el.textContent = '{ ' + show(names.slice(0, 48)) + (n > 4 || n < 0 || names.length > 48 ? ' …' : '') + ' }';
  }
  return el;
}

// A text; of a long one, initially only the beginning.
function textOf(text) {
  const el = h('span', { class: text.includes('\n') ? 'string long' : 'string' });
  const part = (from, to) => document.createTextNode(showLines(whole(text, from, to)));
  let upTo = Math.min(text.length, firstText);
  if (text.length < firstText * 1.5) upTo = text.length;
  el.append(part(0, upTo));
  if (upTo < text.length) {
    const button = h('button', { class: 'link', type: 'button' }, `… ${size(text.length - upTo)} more`);
    button.addEventListener('click', (e) => {
      e.stopPropagation();
      const to = Math.min(text.length, upTo + moreText);
      button.before(part(upTo, to));
      upTo = to;
      if (upTo >= text.length) button.remove();
      else button.textContent = `… ${size(text.length - upTo)} more`;
    });
    el.append(button);
  }
  return el;
}

// A slice that does not split surrogate pairs.
function whole(text, from, to) {
  const low = (i) => i > 0 && i < text.length && /[\udc00-\udfff]/.test(text[i]) && /[\ud800-\udbff]/.test(text[i - 1]);
  return text.slice(low(from) ? from - 1 : from, low(to) ? to - 1 : to);
}

// The button for JSON inside a string, as in many tool results.
function insideButton(state, li, inner, path, level) {
  const button = h('button', { class: 'chip', type: 'button', 'aria-expanded': 'false', title: 'Show this JSON as a tree' }, 'JSON');
  button.addEventListener('click', (e) => {
    e.stopPropagation();
    const open = button.getAttribute('aria-expanded') !== 'true';
    button.setAttribute('aria-expanded', open);
    if (!open) li.querySelector(':scope > ul.inside')?.remove();
    else {
      state.budget = budget;
      li.append(h('ul', { role: 'group', class: 'inside' }, levelOf(state, inner, path, level + 1)));
    }
  });
  return button;
}

function toggle(state, li, level, open = li.getAttribute('aria-expanded') !== 'true') {
  if ((li.getAttribute('aria-expanded') === 'true') === open) return;
  li.setAttribute('aria-expanded', open);
  const group = li.querySelector(':scope > ul:not(.inside)');
  if (!open) group?.remove();
  else li.append(h('ul', { role: 'group' }, members(state, li.at.value, li.at.path, level + 1, 0)));
}

// Expands levels from the outside in, up to the budget: a small message is shown completely, a
// large one as an outline.
function openBreadthFirst(state) {
  let level = [...state.root.children];
  for (let depth = 1; level.length > 0 && depth < 8; depth++) {
    const next = [];
    for (const li of level) {
      if (!li.toggle) continue;
      if (repetitive.has(li.at.path)) continue;
      const n = li.at.value.size(50);
      if (n < 0 || n > Math.max(state.budget, depth < 3 ? 12 : 0)) continue;
      li.toggle(true);
      next.push(...(li.querySelector(':scope > ul')?.children ?? []));
    }
    level = next;
  }
}

// Long members that are repeated in each message of a session.
const repetitive = new Set(['params._meta', 'result._meta', 'params.capabilities', 'result.capabilities']);

function keys(root, e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const at = e.target.closest('[role=treeitem]');
  if (!at || e.target.tagName === 'BUTTON') return;
  const all = () => [...root.querySelectorAll('[role=treeitem]')];
  const move = (by) => {
    const list = all();
    list[list.indexOf(at) + by]?.focus();
  };
  const expanded = at.getAttribute('aria-expanded');
  switch (e.key) {
    case 'ArrowDown': case 'j': move(1); break;
    case 'ArrowUp': case 'k': move(-1); break;
    case 'ArrowRight': case 'l':
      if (expanded === 'false') at.toggle(true);
      else if (expanded === 'true') move(1);
      break;
    case 'ArrowLeft': case 'h':
      if (expanded === 'true') at.toggle(false);
      else at.parentElement.closest('[role=treeitem]')?.focus();
      break;
    case 'Enter': case ' ':
      if (at.toggle) at.toggle();
      else at.querySelector('button')?.click();
      break;
    case 'Home': all()[0]?.focus(); break;
    case 'End': all().at(-1)?.focus(); break;
    default: return;
  }
  e.preventDefault();
  e.stopPropagation();
}

