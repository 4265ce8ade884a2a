// The list of recordings.

import * as api from './source.js';
import { command } from './copy.js';
import { fill, h, setAttr } from './dom.js';
import { framesOf, party, revision, statusChip, remedy } from './summary.js';
import { count, duration, plural, size, started } from './text.js';

const pause = 2000; // ms between two requests, at least
const longest = 8000; // ms; after ten seconds the server assumes that the page is closed
const rest = 10; // the pause as a multiple of the duration of a request
const atOnce = 300; // recordings shown initially

export class Home {
  /** open(key) shows a recording, compare(key) compares it with another. */
  constructor(root, open, compare) {
    this.open = open;
    this.compare = compare;
    this.selected = '';
    this.most = atOnce;
    this.note = h('p', { class: 'lead' }, 'Loading …');
    this.table = h('div', { class: 'recordings' });
    this.comparing = h('button', { type: 'button', class: 'quiet', hidden: true, title: 'Compare the selected recording with another (d)', onclick: () => this.press('d') }, 'Compare …');
    this.banner = h('div', { class: 'banners', role: 'status' });
    this.el = h('main', { class: 'home' }, h('header', null, h('h1', null, 'Recordings'), this.note, this.comparing), this.banner, this.table);
    root.append(this.el);
    document.title = 'Recordings · mcptap';
    this.stop = new AbortController();
    this.onvisible = () => document.visibilityState === 'visible' && this.#poll();
    document.addEventListener('visibilitychange', this.onvisible);
    this.#poll();
  }

  destroy() {
    this.stop.abort();
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.onvisible);
    this.el.remove();
  }

  async #poll() {
    clearTimeout(this.timer);
    const began = performance.now();
    try {
      const res = await api.recordings(this.stop.signal);
      fill(this.banner);
      this.#show(res.recordings ?? []);
    } catch (err) {
      if (err.name === 'AbortError') return;
      fill(this.banner, h('div', { class: 'banner bad' }, h('strong', null, err.text ?? err.message), remedy(err.kind)));
      if (!this.list) fill(this.note);
    }
    if (!document.hidden && !this.stop.signal.aborted) this.timer = setTimeout(() => this.#poll(), Math.min(Math.max(pause, (performance.now() - began) * rest), longest));
  }

  #show(list) {
    const stamp = JSON.stringify(list, (name, v) => (name === 'now' ? undefined : v)) + Math.floor(Date.now() / 6e4);
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    this.list = list;
    this.comparing.hidden = list.length < 2 && !list.some((r) => r.sessions > 1);
    if (list.length === 0) {
      fill(this.note);
      fill(this.table, nothing());
      return;
    }
    const live = list.filter((r) => r.status === 'live').length;
    this.note.textContent = plural(list.length, 'recording') + (live > 0 ? `, ${live} live` : '');
    if (!list.some((r) => r.key === this.selected)) this.selected = list[0].key;
    const had = this.table.contains(document.activeElement);
    const head = h('div', { class: 'rec header', role: 'row' }, ['Recording', 'Client', 'Server', 'Revision', 'Frames', 'Errors', 'Took', 'Started'].map((t, n) => h('span', { role: 'columnheader', class: cells[n] }, t)));
    this.grid = h('div', { role: 'grid', 'aria-label': 'Recordings', tabindex: '0', 'aria-rowcount': list.length + 1, onkeydown: (e) => this.#key(e) },
      head, list.slice(0, this.most).map((r, n) => this.#row(r, n)));
    const left = list.length - this.most;
    fill(this.table, this.grid, left > 0 && h('p', { class: 'note' }, `${plural(left, 'older recording')} not shown. `, h('button', { type: 'button', class: 'link', onclick: () => this.#more(list.length) }, 'Show all')));
    this.#mark();
    if (had || document.activeElement === document.body) this.grid.focus({ preventScroll: true });
  }

  #more(most) {
    this.most = most;
    this.stamp = '';
    this.#show(this.list);
  }

  #row(rec, n) {
    const went = rec.status === 'damaged' || rec.status === 'denied';
    const texts = [
      [h('a', { href: '/r/' + encodeURIComponent(rec.key), tabindex: '-1', class: 'label', onclick: (e) => this.#click(e, rec.key) }, rec.label || rec.key), ' ', statusChip(rec), rec.probe && h('span', { class: 'chip' }, 'probe'), rec.replay_of && h('span', { class: 'chip' }, 'replay of ' + rec.replay_of), rec.sessions > 1 && h('span', { class: 'chip' }, `${count(rec.sessions)} sessions`), h('small', null, rec.id)],
      party(rec.client, '–'), party(rec.server, '–'), revision(rec), went ? '' : framesOf(rec),
      rec.errors > 0 ? h('span', { class: 'bad' }, '✕ ' + count(rec.errors)) : '', went ? '' : duration(rec.duration), h('span', { title: size(rec.size) }, started(new Date(rec.start))),
    ];
    const el = h('div', { class: 'rec', role: 'row', id: 'rec-' + n, 'aria-rowindex': n + 2, onclick: (e) => this.#click(e, rec.key) }, texts.map((t, k) => h('span', { role: 'gridcell', class: cells[k] }, t)));
    el.key = rec.key;
    return el;
  }

  #click(e, key) {
    if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return; // opens a new tab or window
    e.preventDefault();
    e.stopPropagation();
    this.open(key);
  }

  #mark() {
    for (const el of this.grid.children) {
      if (!el.key) continue;
      const on = el.key === this.selected;
      setAttr(el, 'aria-selected', String(on));
      el.classList.toggle('selected', on);
      if (on) this.grid.setAttribute('aria-activedescendant', el.id);
    }
  }

  /** Moves the selection by rows. */
  move(by) {
    if (!this.list?.length) return;
    const at = this.list.findIndex((r) => r.key === this.selected);
    const to = Math.min(Math.max(at + by, 0), this.list.length - 1);
    this.selected = this.list[to].key;
    if (to >= this.most) this.#more(Math.max(to + 1, this.most + atOnce));
    this.#mark();
    this.grid.querySelector('.selected')?.scrollIntoView({ block: 'nearest' });
  }

  focus() {
    this.grid?.focus();
  }

  /** Handles a key. Returns whether it was handled. */
  press(key) {
    if (key !== 'd' || !this.selected || this.comparing.hidden) return false;
    this.compare(this.selected);
    return true;
  }

  #key(e) {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }[e.key];
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (step) this.move(step);
    else if (e.key === 'Enter' && this.selected) this.open(this.selected);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
}

const cells = ['name', 'party', 'party', 'rev', 'num', 'num', 'num', 'when'];

const nothing = () => h('div', { class: 'empty start' },
  h('p', { class: 'big' }, 'No recordings yet.'),
  h('p', null, 'In the configuration of the client, put mcptap in front of the command of a server:'),
  h('pre', null, command('stdio', '--', 'npx', '-y', '@modelcontextprotocol/server-everything')),
  h('p', null, 'For a server on HTTP, give the client the URL that this prints:'),
  h('pre', null, command('http', 'URL')),
  h('p', null, 'Or make some sample recordings:'),
  h('pre', null, command('demo')),
  h('p', { class: 'note' }, 'Recordings appear here as soon as they begin.'));
