// One frame in the panel: its description, and its bytes in several forms.

import * as api from './source.js';
import { hex, plain, pretty } from './bodies.js';
import { argOf, command, copy, menuButton, save } from './copy.js';
import { curlCommand } from './curl.js';
import { fill, h, keepFocus } from './dom.js';
import { lines, parse } from './json.js';
import { Payload } from './payload.js';
import { mark, seqOf } from './rows.js';
import { remedy } from './summary.js';
import { clock, duration, offset, show, size } from './text.js';
import { tree } from './tree.js';
import { eventWord, kindWord } from './words.js';

const laneArrow = { to_server: ['→', 'up'], to_client: ['←', 'down'], stderr: ['!', 'stderr'], lifecycle: ['·', 'lifecycle'] };

export class Card {
  constructor(panel, seq) {
    this.panel = panel;
    this.view = panel.view;
    this.seq = seq;
    this.stop = new AbortController();
    this.path = '';
    this.head = h('div', { class: 'card-head' }, h('span', { class: 'note' }, '#' + seq));
    this.tabs = h('div', { class: 'tabs', role: 'tablist' });
    this.tools = h('span', { class: 'tools' });
    this.body = h('div', { class: 'card-body' }, h('p', { class: 'note' }, 'Loading …'));
    this.el = h('section', { class: 'card', 'aria-label': 'Frame ' + seq }, this.head, h('div', { class: 'card-bar' }, this.tabs, this.tools), this.body);
    this.#load();
  }

  close() {
    this.stop.abort();
  }

  mark(on) {
    this.el.classList.toggle('current', on);
  }

  async #load() {
    try {
      this.info = await api.detail(this.view.key, this.seq, this.stop.signal);
      const { payload, size: total } = this.info;
      this.raw = new Payload(this.view.key, this.seq, 'raw', total);
      this.payload = payload === undefined ? this.raw : new Payload(this.view.key, this.seq, 'payload', payload);
      await this.payload.load(this.stop.signal);
    } catch (err) {
      if (err.name !== 'AbortError') fill(this.body, h('p', { class: 'fault' }, err.message, remedy(err.kind, this.view)));
      return;
    }
    this.#label();
    this.draw();
    this.panel.keep();
  }

  #label() {
    const { info } = this;
    const [arrow, look] = laneArrow[info.lane] ?? ['', ''];
    const word = { stderr: 'stderr', lifecycle: eventWord(info.kind) || 'event of the run' }[info.lane] ?? kindWord(info.kind);
    fill(this.head,
      h('span', { class: 'arrow ' + look, 'aria-hidden': 'true' }, arrow),
      h('h3', null, `#${this.seq} ${word}`),
      h('span', { class: 'facts' }, [offset(info.at) + ' s', size(info.size), info.id && 'id ' + info.id].filter(Boolean).join(' · ')));
    fill(this.tools, menuButton('Copy', 'Copy this frame as …', () => this.#copies()));
  }

  // The names of the tabs of this frame.
  #tabNames() {
    const names = [];
    this.value = this.info.size > 0 && this.info.kind !== 'invalid' ? parse(this.payload.text) : null;
    if (this.value?.container) names.push(['tree', 'Tree'], ['pretty', 'Pretty']);
    names.push(['raw', 'Raw'], ['hex', 'Bytes']);
    if (Object.keys(this.info.heads ?? {}).length > 0 || this.info.event) names.push(['http', 'HTTP']);
    if (this.#previous()) names.push(['changes', 'Changes']);
    names.push(['timing', 'Timing']);
    return names;
  }

  #row() {
    const { rows } = this.view;
    for (const id of [this.panel.shown, this.seq * 16384]) if (seqOf(id) === this.seq && rows.find(id) >= 0) return rows.find(id);
    return -1;
  }

  #previous() {
    const row = this.#row();
    return row < 0 ? 0 : seqOf(this.view.rows.previous[row]);
  }

  /** Draws the selected tab, or the first one. */
  draw() {
    const names = this.#tabNames();
    const tab = names.some(([n]) => n === this.panel.tab) ? this.panel.tab : names[0][0];
    keepFocus(this.tabs, () => fill(this.tabs, names.map(([name, label]) => h('button', {
      type: 'button', role: 'tab', 'aria-selected': String(name === tab), tabindex: name === tab ? '0' : '-1',
      onclick: () => this.#choose(name), onkeydown: (e) => this.#tabKey(e, names, name),
    }, label))), () => this.#tab());
    this.body.setAttribute('role', 'tabpanel');
    keepFocus(this.body, () => fill(this.body, this.#remark(), this['draw_' + tab](), this.#rest(tab)), () => this.#tab());
  }

  #tab() {
    return this.tabs.querySelector('[aria-selected=true]');
  }

  /** Draws the card again, if it has been drawn. */
  redraw() {
    if (this.tabs.children.length > 0) this.draw();
  }

  #choose(name) {
    this.panel.tab = name;
    for (const c of this.panel.cards) c.redraw();
    this.view.tabChosen();
  }

  #tabKey(e, names, name) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.stopPropagation();
    const at = names.findIndex(([n]) => n === name);
    this.#choose(names[(at + step + names.length) % names.length][0]);
    this.#tab()?.focus();
  }

  #remark() {
    const { info } = this;
    const words = [];
    if (info.remark) words.push(info.remark);
    if (info.duplicates) words.push('it has two members with the same name');
    if (this.payload.whole && this.payload.binary) words.push('it looks like binary data');
    return words.length > 0 && h('p', { class: info.kind === 'invalid' ? 'fault' : 'note' }, words.join('; '));
  }

  // The part of a large frame that has not been loaded.
  #rest(tab) {
    const p = tab === 'hex' ? this.raw : this.payload;
    if (p.whole || !['tree', 'pretty', 'raw', 'hex'].includes(tab)) return null;
    if (api.saved) return h('p', { class: 'rest' }, `${size(p.bytes.length)} of ${size(p.total)} are in this page; mcptap show has the whole frame.`);
    const button = h('button', { type: 'button' }, `Load ${size(Math.min(p.rest, 4 << 20))} more`);
    button.addEventListener('click', async () => {
      button.disabled = true;
      await p.load(this.stop.signal);
      this.draw();
    });
    return h('p', { class: 'rest' }, `${size(p.bytes.length)} of ${size(p.total)} loaded. `, button,
      ' ', h('button', { type: 'button', class: 'link', onclick: () => save(api.bytesURL(this.view.key, this.seq)) }, 'Save the frame'));
  }

  draw_tree() {
    return tree(this.value, 'Frame ' + this.seq, { focus: (at) => { this.path = at.path; this.at = at.value; } });
  }

  draw_pretty() {
    return pretty(this.payload.text);
  }

  draw_raw() {
    const p = this.raw;
    if (p.bytes.length === 0 && p.total > 0) return this.#loadFirst(p);
    return p.total === 0 ? h('p', { class: 'note' }, 'The frame is empty.') : plain(p.text);
  }

  draw_hex() {
    const p = this.raw;
    if (p.bytes.length === 0 && p.total > 0) return this.#loadFirst(p);
    return p.total === 0 ? h('p', { class: 'note' }, 'The frame is empty.') : hex(p.bytes);
  }

  #loadFirst(p) {
    p.load(this.stop.signal).then(() => this.draw(), () => {});
    return h('p', { class: 'note' }, 'Loading …');
  }

  draw_timing() {
    const { info, view } = this;
    const row = this.#row();
    const facts = [
      ['Crossed', offset(info.at) + ' s after the start'],
      ['Clock', clock(new Date(info.time)) + ', ' + info.time.slice(0, 10)],
      ['First to last byte', info.took > 0 ? duration(info.took) : 'in one read'],
      ['Lane', info.lane.replace('_', ' ')],
      ['Size', size(info.size) + (info.size >= 1024 ? ` (${info.size} bytes)` : '')],
    ];
    if (info.form !== 'line') facts.push(['Form', info.form]);
    if (info.exchange) facts.push(['HTTP exchange', String(info.exchange)]);
    if (row >= 0 && view.rows.request[row]) {
      facts.push(['Response to', '#' + seqOf(view.rows.request[row]) + ' after ' + duration(view.rows.latency[row])]);
    } else if (row >= 0 && view.rows.response[row]) facts.push(['Response', '#' + seqOf(view.rows.response[row]) + ' after ' + duration(view.rows.latency[row])]);
    return h('dl', { class: 'facts-list' }, facts.map(([k, v]) => [h('dt', null, k), h('dd', null, v)]));
  }

  draw_http() {
    const { heads, event } = this.info;
    const parts = [];
    if (event) {
      const facts = [['event', event.name || 'message'], ['id', event.id], ['retry', event.retry], ['comment', event.comments]];
      parts.push(h('h4', null, 'Server-sent event'), fieldList(facts.filter(([, v]) => v != null && v !== '')));
    }
    for (const [name, title] of [['request', 'Request'], ['response', 'Response'], ['end', 'End of the exchange']]) {
      const head = heads?.[name];
      if (!head) continue;
      parts.push(h('h4', null, title, ' ', h('span', { class: 'note' }, '#' + head.seq)), h('p', { class: 'mono' }, head.line), fieldList(head.header ?? [], new Set(head.masked ?? [])));
      if (head.error) parts.push(h('p', { class: 'fault' }, head.error));
    }
    if (parts.length === 0) parts.push(h('p', { class: 'note' }, 'The heads of this exchange were not found nearby.'));
    return h('div', null, parts);
  }

  draw_changes() {
    const box = h('div', null, h('p', { class: 'note' }, 'Comparing …'));
    const previous = this.#previous();
    const { rows } = this.view;
    const sameCall = (rows.marks[this.#row()] & mark.sameCall) !== 0;
    api.changes(this.view.key, this.seq, previous, this.stop.signal).then((res) => {
      const title = h('p', { class: 'note' }, sameCall ? 'Compared with the previous one in this call, ' : 'Compared with the previous one of its kind, ',
        h('button', { type: 'button', class: 'link', onclick: () => this.view.select(rows.previous[this.#row()]) }, '#' + previous), '.');
      if (res.too_large) return fill(box, title, h('p', null, 'The frames are too large to compare.'));
      const list = res.changes ?? [];
      if (list.length === 0) return fill(box, title, h('p', null, 'No differences except the id.'));
      return fill(box, title, h('ul', { class: 'changes' }, list.map(change)), res.more > 0 && h('p', { class: 'note' }, `and ${res.more} more`));
    }, (err) => err.name !== 'AbortError' && fill(box, h('p', { class: 'fault' }, err.message)));
    return box;
  }

  #command() {
    const rec = this.view.recording;
    return command('show', rec ? argOf(rec) : this.view.key, String(this.seq));
  }

  #copies() {
    const text = () => this.payload.text;
    const all = this.payload.whole ? '' : 'the loaded part';
    const list = [{ text: 'Raw', note: all, act: () => copy(text(), `frame ${this.seq}`) }];
    if (this.value?.container) {
      const formatted = () => [...lines(text())].map((l) => l.map(([, t]) => t).join('')).join('\n');
      list.push({ text: 'Pretty', note: all, act: () => copy(formatted(), `frame ${this.seq}, formatted`) });
    }
    if (this.at && this.path) {
      list.push({ text: 'Value', note: show(this.path.slice(-40)), act: () => this.copyValue() });
      list.push({ text: 'Path', note: show(this.path.slice(-40)), act: () => this.copyPath() });
    }
    list.push({ text: 'mcptap command', act: () => copy(this.#command(), 'the command') });
    const command = this.#curl();
    if (command) list.push({ text: 'curl', note: this.info.heads.request.masked ? 'masked values stay masked' : '', act: () => copy(command, 'a curl command') });
    list.push({ text: 'txtar', note: 'a paragraph of a transcript', act: () => copy(this.#txtar(), 'a paragraph') });
    if (!api.saved) list.push({ text: 'Save as a file', act: () => save(api.bytesURL(this.view.key, this.seq)) });
    return list;
  }

  copyRaw() {
    if (this.payload) copy(this.payload.text, `frame ${this.seq}`);
  }

  copyPath() {
    if (this.path) copy(this.path, 'the path');
  }

  copyValue() {
    if (this.at) copy(this.at.type === 'string' ? this.at.string : this.at.raw, 'the value');
  }

  #txtar() {
    const { info } = this;
    const body = this.raw.bytes.length > 0 ? this.raw.text : this.payload.text;
    return `-- ${String(this.seq).padStart(4, '0')} ${info.lane} +${info.at / 1000}µs --\n${body}${body.endsWith('\n') ? '' : '\n'}`;
  }

  #curl() {
    const { info, view, payload } = this;
    return info.lane === 'to_server' && payload.whole ? curlCommand(info.heads?.request, view.recording?.upstream, payload.text) : '';
  }
}

const fieldList = (list, masked = new Set()) => list.length > 0 && h('dl', { class: 'fields' },
  list.map(([k, v]) => [h('dt', null, k), h('dd', null, v, masked.has(k) && h('span', { class: 'chip' }, 'masked'))]));

const change = (c) => h('li', null, h('span', { class: 'path' }, c.path || 'the whole frame'),
  c.before !== undefined && h('del', null, c.before), c.after !== undefined && h('ins', null, c.after));
