// Two recordings side by side: the differences of `mcptap diff`, call by call.

import * as api from './source.js';
import { argOf, command, copy } from './copy.js';
import { fill, h } from './dom.js';
import { party, revision, statusChip, remedy } from './summary.js';
import { count, duration, offset, plural } from './text.js';
import { arrows, stateWord } from './words.js';

const atOnce = 300; // rows drawn at a time
const openAtFirst = 12; // calls whose differences are initially shown

// Most important first: [name, shape, look, meaning].
const classes = [
  ['breaking', '✕', 'bad', 'breaks clients or servers that rely on it'],
  ['behaviour', '≠', 'odd', 'behaves differently'],
  ['expected', '↔', 'dim', 'due to the revision of the protocol'],
  ['timing', '◷', 'dim', 'takes much longer or much less time'],
  ['cosmetic', '≈', 'dim', 'the same in another form'],
];
const classOf = Object.fromEntries(classes.map((c) => [c[0], c]));
const badge = (name) => h('span', { class: 'class ' + (classOf[name]?.[2] ?? '') }, h('span', { 'aria-hidden': 'true' }, classOf[name]?.[1] ?? ''), ' ', name);

export class Compare {
  /** sides has the keys a and b, and the session numbers as and bs; go(path) opens a path. */
  constructor(root, sides, go) {
    Object.assign(this, { sides, go });
    this.hidden = null; // the hidden classes, once the differences are known
    this.head = h('header', { class: 'compare-head' });
    this.body = h('div', { class: 'pairs' });
    this.el = h('main', { class: 'compare' }, this.head, this.body);
    root.append(this.el);
    document.title = 'Compare · mcptap';
    this.stop = new AbortController();
    this.load();
  }

  destroy() {
    this.stop.abort();
    this.el.remove();
  }

  focus() {}

  async load() {
    fill(this.head, h('h1', null, 'Compare'));
    fill(this.body, h('div', { class: 'empty' }, h('p', { class: 'big' }, 'Comparing …')));
    try {
      this.data = await api.compare(this.sides, this.stop.signal);
    } catch (err) {
      if (err.name === 'AbortError') return;
      fill(this.body, h('div', { class: 'empty' }, h('p', { class: 'big' }, 'The recordings cannot be compared.'), h('p', { class: 'fault' }, err.message, remedy(err.kind)),
        h('button', { type: 'button', onclick: () => this.go('/') }, 'All recordings')));
      return;
    }
    const { a, b, sessions } = this.data;
    // Breaking and behaviour differences are shown first.
    const serious = sessions.some((s) => s.counts.breaking > 0 || s.counts.behaviour > 0);
    if (!this.hidden) this.hidden = new Set(serious ? ['expected', 'cosmetic'] : []);
    document.title = `${a.label || a.key} ↔ ${b.label || b.key} · mcptap`;
    this.#head();
    this.#draw();
  }

  #head() {
    const { a, b, sessions } = this.data;
    const { sides } = this;
    const side = (rec, letter, session) => h('section', { class: 'side', 'aria-label': 'Side ' + letter },
      h('h2', null, h('span', { class: 'letter' }, letter), ' ', this.#link('/r/' + encodeURIComponent(rec.key), rec.label || rec.key), ' ', statusChip(rec), ' ', this.#session(rec, letter, session)),
      h('p', { class: 'parties' }, parties(rec, session && sessions.length === 1 ? sessions[0][letter.toLowerCase()] : null)),
      h('p', { class: 'note' }, [revision(rec), rec.transport, duration(rec.duration), rec.id].filter(Boolean).join(' · ')));
    const total = (of) => sessions.reduce((n, s) => n + of(s), 0);
    const names = [[a, sides.as], [b, sides.bs]].map(([rec, n]) => argOf(rec) + (n ? '#' + n : ''));
    fill(this.head, h('h1', { class: 'offstage' }, 'Compare'),
      h('div', { class: 'sides' }, side(a, 'A', sides.as), h('button', { type: 'button', class: 'quiet', title: 'Swap the sides', 'aria-label': 'Swap the sides', onclick: () => this.go(comparePath({ a: sides.b, b: sides.a, as: sides.bs, bs: sides.as })) }, '⇄'), side(b, 'B', sides.bs)),
      sessions.map((s) => h('p', { class: 'sentence' }, s.summary)),
      sessions.flatMap((s) => [s.a, s.b]).filter((s) => s.lacks).map((s) => h('p', { class: 'banner odd' }, `In ${s.name}, ${s.lacks}: differences may be missing.`)),
      (this.data.unpaired ?? []).map((u) => h('p', { class: 'banner odd' }, `Only ${u.side.toUpperCase()} has the session ${u.name}.`)),
      h('div', { class: 'classes', role: 'group', 'aria-label': 'Differences that are shown' },
        classes.map(([name, shape, look, means]) => {
          const n = total((s) => s.counts[name] ?? 0);
          return h('button', { type: 'button', class: 'class-chip ' + (n ? look : 'none'), 'aria-pressed': String(n > 0 && !this.hidden.has(name)), disabled: n === 0, title: means, onclick: (e) => this.#toggle(name, e.currentTarget) },
            h('span', { 'aria-hidden': 'true' }, shape), ' ', h('b', null, count(n)), ' ', name);
        }),
        h('span', { class: 'space' }),
        [a, b].some((rec) => rec.status === 'live') && h('button', { type: 'button', class: 'quiet', onclick: () => this.load() }, 'Compare again'),
        h('button', { type: 'button', class: 'quiet', title: 'Copy the command for a terminal', onclick: () => copy(command('diff', ...names), 'the command') }, 'Copy as mcptap diff')));
  }

  // The selection of one session, if there are several.
  #session(rec, letter, chosen) {
    if (!(rec.sessions > 1 || chosen)) return null;
    const name = letter.toLowerCase() + 's';
    const all = Array.from({ length: Math.min(Math.max(rec.sessions ?? 0, chosen ?? 0), 200) }, (_, n) => String(n + 1));
    const box = h('select', { 'aria-label': 'Session of ' + letter, onchange: () => this.go(comparePath({ ...this.sides, [name]: box.value })) },
      h('option', { value: '' }, 'all sessions'), all.map((n) => h('option', { value: n }, 'session ' + n)));
    box.value = chosen ?? '';
    return box;
  }

  #toggle(name, button) {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    button.setAttribute('aria-pressed', String(!this.hidden.has(name)));
    this.#draw();
  }

  #draw() {
    this.opened = 0;
    const { sessions } = this.data;
    fill(this.body, sessions.map((s) => h('section', { class: 'pair' }, sessions.length > 1 && h('h2', null, s.a.name, ' ↔ ', s.b.name), this.#calls(s))));
  }

  #calls(s) {
    const rows = [];
    const general = (s.session ?? []).filter((n) => this.#wanted(s, n));
    if (general.length > 0) rows.push(() => this.#row(s, { differences: general, class: worst(s, general) }, 'The session as a whole'));
    let same = [];
    const flush = () => {
      if (same.length === 0) return;
      const run = same;
      same = [];
      rows.push(() => this.#same(s, run));
    };
    for (const row of s.rows ?? []) {
      const all = row.differences ?? [];
      if (row.class && all.some((n) => this.#wanted(s, n))) {
        flush();
        rows.push(() => this.#row(s, row));
      } else same.push(row);
    }
    flush();
    const list = h('div', { class: 'call-pairs' });
    const more = h('div', { class: 'rest' });
    let drawn = 0;
    const draw = () => {
      const next = rows.slice(drawn, drawn + atOnce);
      drawn += next.length;
      list.append(...next.map((make) => make()));
      fill(more, drawn < rows.length && h('button', { type: 'button', onclick: draw }, `Show ${count(Math.min(atOnce, rows.length - drawn))} more`),
        drawn >= rows.length && this.#left(s));
    };
    draw();
    return [list, more];
  }

  #wanted(s, n) {
    return s.differences[n] && !this.hidden.has(s.differences[n].class);
  }

  // What the result omits.
  #left(s) {
    const words = classes.filter(([name]) => s.not_listed?.[name] > 0).map(([name]) => `${count(s.not_listed[name])} of ${name}`);
    if (s.more_rows > 0) words.push(plural(s.more_rows, 'call'));
    return [s.calls === 0 && h('p', { class: 'note' }, 'The recordings have no calls.'), words.length > 0 && h('p', { class: 'note' }, 'Not listed here: ' + words.join(', ') + '. mcptap diff has all of it.')];
  }

  // Calls without differences, as one line that expands.
  #same(s, run) {
    const n = run.reduce((sum, row) => sum + (row.folded || 1), 0);
    const shown = run.filter((row) => !row.folded);
    const box = h('div', { class: 'same-calls', hidden: true });
    const button = h('button', { type: 'button', class: 'same', 'aria-expanded': 'false', disabled: shown.length === 0, onclick: () => {
      if (!box.firstChild) fill(box, shown.slice(0, atOnce).map((row) => h('div', { class: 'call-pair' }, this.#line(s, row))), shown.length > atOnce && h('p', { class: 'note' }, `and ${count(shown.length - atOnce)} more`));
      box.hidden = !box.hidden;
      button.setAttribute('aria-expanded', String(!box.hidden));
    } }, h('span', { class: 'twisty', 'aria-hidden': 'true' }), this.hidden.size > 0 ? `${plural(n, 'call')} without such differences` : `${plural(n, 'call')} the same`);
    return h('div', { class: 'run' }, button, box);
  }

  #row(s, row, title) {
    const wanted = (row.differences ?? []).filter((n) => this.#wanted(s, n));
    const serious = wanted.some((n) => ['breaking', 'behaviour'].includes(s.differences[n].class));
    const open = serious && this.opened < openAtFirst;
    if (open) this.opened++;
    const box = h('div', { class: 'differences', hidden: !open });
    const draw = () => fill(box, wanted.map((n) => difference(s.differences[n])));
    if (open) draw();
    const button = h('button', { type: 'button', class: 'call-head', 'aria-expanded': String(open), onclick: () => this.#open(button, box, draw) },
      h('span', { class: 'twisty', 'aria-hidden': 'true' }), badge(row.class), title ? h('span', { class: 'whole' }, title) : [this.#call(row.a, 'A'), this.#call(row.b, 'B')]);
    button.serious = serious;
    button.set = (want) => (want === box.hidden) && this.#open(button, box, draw);
    return h('div', { class: row.class === 'breaking' ? 'call-pair bad' : 'call-pair' }, button,
      h('span', { class: 'jumps' }, !title && [this.#jump(this.sides.a, row.a, 'A'), this.#jump(this.sides.b, row.b, 'B')]), box);
  }

  #open(button, box, draw) {
    if (!box.firstChild) draw();
    box.hidden = !box.hidden;
    button.setAttribute('aria-expanded', String(!box.hidden));
  }

  #line(s, row) {
    return [h('span', { class: 'call-head plain' }, h('span'), h('span', { class: 'class' }, h('span', { 'aria-hidden': 'true' }, '='), ' same'), this.#call(row.a, 'A'), this.#call(row.b, 'B')),
      h('span', { class: 'jumps' }, this.#jump(this.sides.a, row.a, 'A'), this.#jump(this.sides.b, row.b, 'B'))];
  }

  #call(c, letter) {
    if (!c) return h('span', { class: 'call none', 'data-side': letter }, 'missing');
    const state = stateWord(c.state);
    const lane = c.lane === 'to_client' ? 2 : 1;
    return h('span', { class: 'call', 'data-side': letter, title: offset(c.at_ns) + ' s' },
      h('span', { class: 'name' }, h('span', { class: 'arrow ' + (lane === 1 ? 'up' : 'down'), 'aria-hidden': 'true' }, arrows[lane]), ' ', h('b', null, c.method), ' ', c.subject), ' ', h('span', { class: 'state ' + state.look }, state.shape + ' ' + state.word, c.took_ns > 0 && ' · ' + duration(c.took_ns)));
  }

  #jump(key, c, letter) {
    return c && this.#link(`/r/${encodeURIComponent(key)}?f=${c.ref.seq}${c.ref.index ? '.' + c.ref.index : ''}`, `${letter} #${c.ref.seq}`);
  }

  #link(path, text) {
    return h('a', { href: path, onclick: (e) => {
      if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
      e.preventDefault();
      this.go(path);
    } }, text);
  }

  /** Handles a key. Returns whether it was handled. */
  press(key) {
    const all = [...this.body.querySelectorAll('button.call-head, button.same')];
    const at = all.indexOf(document.activeElement);
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[key];
    if (step) all[Math.min(Math.max(at + step, 0), all.length - 1)]?.focus();
    else if (key === 'g') all[0]?.focus();
    else if (key === 'G') all.at(-1)?.focus();
    else if (key === 'e' || key === 'E') (key === 'e' ? all.slice(at + 1) : all.slice(0, Math.max(at, 0)).reverse()).find((b) => b.serious)?.focus();
    else if (key === '*' || key === '-') for (const b of all) b.set?.(key === '*');
    else return false;
    return true;
  }
}

// The client and server of a recording, or of its only session.
const parties = (rec, one) => [party((one ?? rec).client, 'client'), ' ⇄ ', party((one ?? rec).server, 'server')];

/** The path of a comparison. */
export const comparePath = (sides) => '/compare?' + new URLSearchParams(Object.entries(sides).filter(([, v]) => v));

const worst = (s, list) => classes.map(([name]) => name).find((name) => list.some((n) => s.differences[n].class === name)) ?? '';

// One difference: its class and place, the reason, and both sides.
function difference(d) {
  return h('div', { class: 'difference' },
    h('p', null, badge(d.class), ' ', d.where && [h('code', null, d.where), ' '], d.means, d.times > 1 && h('span', { class: 'chip' }, '× ' + count(d.times))),
    (d.reason || d.page) && h('p', { class: 'note' }, d.reason, d.page && [d.reason && ' ', d.url ? h('a', { href: d.url, target: '_blank', rel: 'noopener noreferrer' }, d.page) : d.page]),
    (d.rows ?? []).length > 0 && h('div', { class: 'both' }, d.rows.flatMap(lineOf),
      d.more_rows > 0 && h('span', { class: 'skipped' }, `… ${plural(d.more_rows, 'more line')}`)));
}

function lineOf(l) {
  const cell = (pieces, mark, look) => h('span', { class: 'cell ' + (l.same ? 'same' : pieces ? look : 'void') },
    h('span', { class: 'sign', 'aria-label': l.same || !pieces ? null : mark === '-' ? 'before' : 'after' }, l.same || !pieces ? ' ' : mark), ' ',
    (pieces ?? []).map((p) => h(p.differs && !l.same ? 'mark' : 'span', { class: p.left_out ? 'note' : null }, p.text)));
  return [l.skipped > 0 && h('span', { class: 'skipped' }, `… ${plural(l.skipped, 'line is', 'lines are')} the same`), cell(l.old, '-', 'old'), cell(l.new, '+', 'new')];
}
