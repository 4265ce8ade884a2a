// The view of one recording: its stream, its list, and the panel next to it.

import * as api from './source.js';
import { Detail } from './detail.js';
import { announce, fill, h } from './dom.js';
import { FilterBox } from './filterbox.js';
import { showFindings } from './findings.js';
import { Foot } from './foot.js';
import { HTTPRows } from './http.js';
import { Lines } from './lines.js';
import { List } from './list.js';
import { Nothing } from './nothing.js';
import * as line from './line.js';
import { Rows, idOf, nameOf } from './rows.js';
import { Ruler } from './ruler.js';
import { SessionChoice } from './sessions.js';
import { Sequence, header as sequenceHeader } from './sequence.js';
import { showStats } from './statistics.js';
import { Summary } from './summary.js';
import * as waterfall from './waterfall.js';
import { openAtEnd } from './words.js';
import { splitter } from './splitter.js';

export const modes = [['calls', 'Calls'], ['frames', 'Frames'], ['sequence', 'Sequence'], ['stats', 'Statistics'], ['findings', 'Findings']];
const reports = { stats: showStats, findings: showFindings };

export class RecordingView {
  /** state is the state in the URL: q, v, f, tab, http. changed(state) updates the URL. */
  constructor(root, key, state, changed) {
    Object.assign(this, { root, key, changed });
    this.mode = modes.some(([m]) => m === state.v) ? state.v : 'calls';
    this.selected = state.f ? idOf(state.f) : 0;
    this.awaited = this.selected; // its row has not arrived yet
    this.recording = null;
    this.flags = new Map(); // the rules that frames violate, if known
    this.unknown = state.unknown || (state.f && !this.selected ? `f=${state.f}` : '');
    this.over = false;
    this.news = 0;
    this.filter = new FilterBox(key, (q) => this.#restart(q));
    this.filter.applied = this.filter.input.value = state.q ?? '';
    this.filter.clear.hidden = !state.q;
    this.sessions = new SessionChoice(this.filter);
    this.http = new HTTPRows(state.http === '1', () => this.#redraw());
    this.summary = new Summary();
    this.tabs = h('div', { class: 'modes', role: 'tablist', 'aria-label': 'View' });
    this.banner = h('div', { class: 'banners', role: 'status' });
    this.listBox = h('div', { class: 'list-box' });
    this.detailBox = h('aside', { class: 'detail', 'aria-label': 'Selected frame', hidden: true });
    this.foot = new Foot(this);
    this.split = h('div', { class: 'split' }, this.listBox, splitter(this.detailBox, () => this.list?.repaint()), this.detailBox);
    this.el = h('main', { class: 'recording' }, this.summary.el, h('div', { class: 'bar' }, this.tabs, this.http.el, this.sessions.el, this.filter.el), this.banner, this.split, this.foot.el);
    root.append(this.el);
    this.el.addEventListener('leave', () => this.focus());
    this.detail = new Detail(this.detailBox, this);
    if (state.tab) this.detail.tab = state.tab;
    this.#restart(this.filter.applied);
    // Updates the duration of a live recording, and the waiting times of pending calls.
    this.tick = setInterval(() => !this.over && (this.summary.tick(), this.list?.repaint()), 1000);
    if (this.selected && !reports[this.mode]) {
      this.detailBox.hidden = false;
      this.detail.show(this.selected);
    }
  }

  destroy() {
    this.end?.();
    this.list?.close();
    this.ruler?.close();
    this.detail.clear();
    clearTimeout(this.retry);
    clearInterval(this.tick);
    this.stopReport?.abort();
    this.el.remove();
  }

  get calls() {
    return this.mode === 'calls';
  }

  // Restarts with another filter or view.
  #restart(filter) {
    this.end?.();
    clearTimeout(this.retry);
    this.query = filter;
    this.rows = new Rows();
    this.read = 0;
    this.idle = false;
    this.problem = this.refused = null; // problem of the recording, and of the filter
    this.news = 0;
    this.over = this.recording ? this.recording.status !== 'live' : false;
    this.#build();
    this.#connect(0);
    this.#state();
  }

  #connect(after) {
    const mine = this.rows;
    this.streamsCalls = this.calls;
    this.end = api.stream(this.key, { filter: this.query, calls: this.calls, after }, {
      message: (m) => mine === this.rows && this.#message(m),
      lost: () => mine === this.rows && this.#lost(),
    });
  }

  #message(m) {
    if (m.rec) this.#describe(m.rec);
    if (this.lost) {
      this.lost = 0;
      this.locked = false;
      this.#banners();
    }
    if (m.problem) this.#fail(m.problem);
    const before = this.rows.shown;
    if (m.r) this.rows.add(m.r);
    if (m.u) this.rows.update(m.u);
    if (m.read) [this.read, this.total] = [m.read, m.calls];
    if (m.idle) this.idle = true;
    if (this.list && !this.list.follow) this.news += Math.max(0, this.rows.shown - before) * (this.live ? 1 : 0);
    if (m.idle && !this.live) {
      this.live = true; // further rows are new
      this.news = 0;
      this.#loaded();
    }
    if (this.awaited && this.list && (this.rows.find(this.awaited) >= 0 || m.idle)) this.#selectAwaited();
    this.dirty ||= Boolean(m.r || m.u);
    this.list?.repaint();
    this.foot.plan();
  }

  // All recorded frames have been read for the first time.
  #loaded() {
    if (this.recording?.status === 'live' && !this.selected) this.list?.toEnd();
    if (this.selected && !this.detail.shown) this.select(this.selected);
  }

  // The row in the URL has arrived, or does not exist.
  #selectAwaited() {
    const id = this.awaited;
    this.awaited = 0;
    if (id !== this.selected) return;
    this.#count(); // gives it a line
    this.select(id);
    this.#revealSoon();
  }

  #describe(rec) {
    this.recording = rec;
    this.over = rec.status !== 'live' || api.saved;
    this.summary.show(rec, this.over);
    document.title = `${rec.label || rec.key} · mcptap`;
    this.#banners();
    if (this.mode === 'sequence' && this.headFor !== rec.server.name + rec.client.name) this.#head();
  }

  #fail(p) {
    if (p.kind === 'filter') {
      this.filter.complain(this.refused = p);
      this.idle = true;
      return;
    }
    this.problem = p;
    this.over = true;
    this.#banners();
  }

  // The server is gone, or the machine was suspended: reconnects and continues.
  #lost() {
    this.lost = (this.lost ?? 0) + 1;
    this.#banners();
    this.nothing?.draw();
    api.formats().then(() => false, (err) => err.kind === 'locked').then((locked) => {
      this.locked = locked;
      this.#banners();
    });
    const pause = Math.min(500 * 2 ** Math.min(this.lost, 4), 5000);
    this.retry = setTimeout(() => this.#connect(this.rows.n > 0 ? this.read : 0), pause);
  }

  #banners() {
    fill(this.banner, this.summary.banners({ recording: this.recording, key: this.key, problem: this.problem, lost: this.lost, locked: this.locked, unknown: this.unknown, leave: () => this.changed(null) }));
  }

  // Builds the list, or a report in its place.
  #build() {
    const had = this.scroller?.contains(document.activeElement);
    this.list?.close();
    this.ruler?.close();
    this.list = null;
    this.stopReport?.abort();
    this.live = false;
    fill(this.tabs, modes.map(([name, label], n) => h('button', {
      type: 'button', role: 'tab', 'aria-selected': String(name === this.mode), onclick: () => this.setMode(name), title: `${label} (${n + 1})`,
    }, label)));
    this.el.dataset.mode = this.mode;
    if (reports[this.mode]) {
      this.stopReport = new AbortController();
      this.detailBox.hidden = true;
      reports[this.mode](this.listBox, this, this.stopReport.signal);
      return;
    }
    this.detailBox.hidden = !this.detail.shown;
    this.lines = new Lines(this.rows, this.calls, this.http.left(this));
    this.sequence = this.mode === 'sequence' ? new Sequence(this) : null;
    const scroller = h('div', {
      class: 'scroller', tabindex: '0', role: this.calls ? 'treegrid' : 'grid', 'aria-label': 'Messages', 'aria-rowcount': '-1',
      onclick: (e) => this.#click(e), ondblclick: (e) => this.#dblclick(e),
    });
    this.scroller = scroller;
    this.headBox = h('div', { role: 'rowgroup', class: 'head' });
    this.nothing = new Nothing(this);
    this.ruler = new Ruler(this);
    scroller.append(this.headBox);
    fill(this.listBox, scroller, this.ruler.el, this.nothing.el, this.foot.pill);
    this.#head();
    this.list = new List(scroller, {
      lineHeight: this.sequence ? 36 : 26, count: () => this.#count(), make: this.sequence ? () => this.sequence.make() : line.make,
      draw: this.sequence ? (el, n) => this.sequence.draw(el, n) : (el, n) => line.draw(el, n, this),
      painted: (first, last) => this.#painted(first, last), moved: () => this.foot.plan(),
    });
    this.list.repaint();
    if (had) this.focus();
  }

  #head() {
    if (!this.headBox) return;
    const { client, server } = this.recording ?? {};
    this.headFor = (server?.name ?? '') + (client?.name ?? '');
    fill(this.headBox, this.sequence ? sequenceHeader(client?.name, server?.name) : line.header());
    this.axis = this.headBox.querySelector('.axis');
  }

  #count() {
    const moved = this.lines.update();
    if (moved && this.selected) this.#keepInView();
    return this.lines.length;
  }

  // Lines were inserted above: keeps the selected line in place.
  #keepInView() {
    const now = this.lines.lineOf(this.rows.find(this.selected));
    if (now >= 0 && this.selectedLine >= 0 && !this.list?.follow && this.list) this.list.top += now - this.selectedLine;
    this.selectedLine = now;
  }

  #painted(first, last) {
    this.selectedLine = this.selected ? this.lines.lineOf(this.rows.find(this.selected)) : -1;
    if (this.sequence) this.sequence.painted(this.list.pool);
    else {
      const span = waterfall.span(this.rows, this.lines, first, last, this.summary.now(this.over));
      for (const el of this.list.pool.values()) waterfall.bar(el, this.rows, span);
      if (this.axis) this.axis.textContent = this.lines.length > 0 ? waterfall.axis(span) : '';
    }
    this.scroller.setAttribute('aria-rowcount', this.idle ? this.lines.length + 1 : -1);
    const active = this.selectedLine >= 0 && this.list.pool.get(this.selectedLine);
    if (active) this.scroller.setAttribute('aria-activedescendant', active.id);
    else this.scroller.removeAttribute('aria-activedescendant');
    if (this.dirty) {
      this.dirty = false;
      this.detail.refresh();
      this.ruler.draw();
    }
    this.ruler.window(first, last, this.lines.length);
    this.nothing.draw();
  }

  #click(e) {
    const el = e.target.closest('.row');
    if (!el || el.row === undefined) return;
    if (e.target.closest('.twisty, .more') && this.lines.opens(el.line)) this.toggle(el.line);
    else this.select(this.rows.id[el.row]);
  }

  #dblclick(e) {
    const el = e.target.closest('.row');
    if (el?.line !== undefined) this.toggle(el.line);
  }

  /** Expands or collapses the call on a line. */
  toggle(at, open) {
    if (!this.lines.toggle(at, open)) return false;
    this.list.repaint();
    return true;
  }

  /** Selects the row of an id, and shows it in the panel. */
  select(id, reveal = true) {
    this.selected = id;
    let row = this.rows.find(id);
    if (row >= 0 && this.calls && this.lines.lineOf(row) >= 0 && this.lines.row(this.lines.lineOf(row)) !== row) {
      // Expand the call into which it is folded.
      this.lines.toggle(this.lines.lineOf(row), true);
      this.lines.update();
    }
    const at = this.lines?.lineOf(row) ?? -1;
    this.selectedLine = at;
    if (at >= 0 && reveal) this.list.reveal(at, Math.abs(at - this.list.top) > this.list.visible * 1.5);
    const opened = this.detailBox.hidden;
    this.detailBox.hidden = false;
    this.detail.show(id);
    if (opened) this.#revealSoon();
    this.list?.repaint();
    this.#state();
  }

  // The list has its new height after the next animation frame.
  #revealSoon() {
    requestAnimationFrame(() => requestAnimationFrame(() => this.selectedLine >= 0 && this.list?.reveal(this.selectedLine)));
  }

  /** Closes the panel. */
  close() {
    this.awaited = 0;
    this.detail.clear();
    this.detailBox.hidden = true;
    this.list?.repaint();
    this.#state();
    this.focus();
  }

  focus() {
    this.scroller?.focus({ preventScroll: true });
  }

  toEnd() {
    this.list?.toEnd();
    this.news = 0;
    this.foot.draw();
    this.focus();
  }

  /** Moves the selection by lines. */
  move(by) {
    const n = this.lines.length;
    if (n === 0) return;
    const at = this.selectedLine < 0 ? (by > 0 ? Math.ceil(this.list.top) : Math.floor(this.list.top)) : Math.min(Math.max(this.selectedLine + by, 0), n - 1);
    this.select(this.rows.id[this.lines.row(Math.min(at, n - 1))]);
  }

  /** Whether a line is a failure or, in the call view, belongs to a failed call. */
  bad(i) {
    return this.rows.failed(i) || this.rows.orphan(i) || (this.calls && this.rows.callFailed(i));
  }

  /** Whether a line begins a call that will have no response. */
  unanswered(i) {
    return this.over && this.rows.begins(i) && !this.rows.settled(i) && this.rows.stateName(i) !== 'listening' && !openAtEnd(this.rows, i);
  }

  /** Selects the next failure, or the previous one. */
  nextError(way) {
    const n = this.lines.length;
    const from = this.selectedLine < 0 ? (way > 0 ? -1 : n) : this.selectedLine;
    for (let k = 1; k <= n; k++) {
      const at = (((from + way * k) % n) + n) % n;
      const i = this.lines.row(at);
      if (this.bad(i) || this.unanswered(i)) {
        this.select(this.rows.id[i]);
        return;
      }
    }
    announce('No errors');
  }

  /** Selects the response of a request, or the request of a response. */
  mate() {
    const i = this.rows.find(this.selected);
    if (i < 0) return;
    const id = this.rows.response[i] || this.rows.request[i] || (this.rows.begins(i) ? 0 : this.rows.call[i]);
    if (id) this.select(id);
  }

  setMode(mode) {
    if (mode === this.mode) return;
    const reload = this.query && !reports[mode] && (mode === 'calls') !== this.streamsCalls;
    this.mode = mode;
    if (reload) this.#restart(this.query);
    else this.#redraw();
  }

  // Shows the same rows in another view.
  #redraw() {
    this.#build();
    this.live = this.idle;
    const id = this.selected;
    if (this.list && id) requestAnimationFrame(() => this.selected === id && this.rows.find(id) >= 0 && this.list && this.select(id));
    this.foot.plan();
    this.#state();
    if (this.list) this.focus();
  }

  /** Updates the URL after a change of the tab. */
  tabChosen() {
    this.#state();
  }

  #state() {
    this.changed({ q: this.query, v: this.mode === 'calls' ? '' : this.mode, f: this.selected && (this.awaited || !this.detailBox.hidden) ? nameOf(this.selected) : '', tab: this.detail.tab === 'tree' ? '' : this.detail.tab, http: this.http.on ? '1' : '' });
  }
}
