// The statistics of calls by method and tool.

import * as api from './source.js';
import { fill, h } from './dom.js';
import { seqOf } from './rows.js';
import { load } from './summary.js';
import { count, duration, offset, plural, size } from './text.js';
import { arrows, stateWord } from './words.js';

const columns = [
  ['calls', 'Calls', (g) => count(g.calls), (g) => g.calls],
  ['errors', 'Errors', (g) => (g.errors ? '✕ ' + count(g.errors) : ''), (g) => g.errors ?? 0],
  ['unanswered', 'Unanswered', (g) => (g.unanswered ? '◌ ' + count(g.unanswered) : ''), (g) => g.unanswered ?? 0],
  ['cancelled', 'Cancelled', (g) => (g.cancelled ? '⊘ ' + count(g.cancelled) : ''), (g) => g.cancelled ?? 0],
  ['p50', 'Median', (g) => (g.max ? duration(g.p50) : ''), (g) => g.p50],
  ['p95', 'p95', (g) => (g.max ? duration(g.p95) : ''), (g) => g.p95],
  ['p99', 'p99', (g) => (g.max ? duration(g.p99) : ''), (g) => g.p99],
  ['max', 'Max', (g) => (g.max ? duration(g.max) : ''), (g) => g.max],
  ['bytes', 'Bytes', (g) => size(g.up + g.down), (g) => g.up + g.down],
  ['spread', 'Latencies', null, (g) => g.p50],
  ['sum', 'Time', (g) => (g.sum ? duration(g.sum) : ''), (g) => g.sum],
];

/** Shows the statistics in el. */
export async function showStats(el, view, signal) {
  const stats = await load(el, view, 'Counting …', api.stats(view.key, view.sessions.chosen, signal));
  if (!stats) return;
  let sort = 'sum';
  const draw = () => fill(el, h('div', { class: 'stats', tabindex: '0' }, h('div', { class: 'overview' }, tiles(stats, view), chart(stats.histogram)), table(stats, view, sort, (s) => { sort = s; draw(); }), calls(stats, view)));
  draw();
  const { chosen, more } = view.sessions;
  if (more) el.firstChild.prepend(h('p', { class: 'note' }, `The statistics include all calls${chosen ? ' of session ' + chosen : ''}: the filter applies to the other views.`));
  if (stats.open) el.firstChild.prepend(h('p', { class: 'note' }, `Not counted: ${plural(stats.open, 'call')} open at the end of this part.`));
  if (!stats.live) return;
  const refresh = h('button', { type: 'button', class: 'quiet', onclick: () => showStats(el, view, signal) }, 'Refresh');
  el.firstChild.prepend(h('p', { class: 'note' }, `The recording is live: these are the statistics at ${offset(stats.read)} s. `, refresh));
}

// Calls without a response may still get it if the recording is live.
const openWord = (s) => (s.live ? 'Pending' : 'Unanswered');

function tiles(s, view) {
  const t = s.total;
  // Nested calls are counted, but their time is part of the time of other calls.
  const all = (name) => (s.total[name] ?? 0) + (s.nested[name] ?? 0);
  const [calls, failed, open, cancelled] = ['calls', 'errors', 'unanswered', 'cancelled'].map(all);
  const tile = (value, label, look, act) => h(act ? 'button' : 'div', { class: 'tile ' + (look ?? ''), type: act ? 'button' : null, onclick: act }, h('b', null, value), h('span', null, label));
  const see = (q) => (api.saved ? null : () => { view.setMode('calls'); view.filter.set(q); });
  return h('div', { class: 'tiles' },
    tile(count(calls), calls === 1 ? 'call' : 'calls'),
    tile(count(failed), 'failed', failed ? 'bad' : '', failed ? see('is:error') : null),
    tile(count(open), openWord(s).toLowerCase(), open && !s.live ? 'bad' : '', open ? see('is:pending') : null),
    cancelled ? tile(count(cancelled), 'cancelled', 'odd', see('is:cancelled')) : null,
    tile(t.max ? duration(t.p50) : '–', 'median'), tile(t.max ? duration(t.p95) : '–', 'p95'),
    s.handshake ? tile(duration(s.handshake), 'until the handshake') : null,
    s.useful ? tile(duration(s.useful), 'until the first result after the handshake') : null);
}

// The distribution of latencies, one bar per bucket.
function chart(buckets) {
  if (!buckets || buckets.length === 0) return null;
  const most = Math.max(...buckets.map((b) => b.calls));
  const bars = buckets.map((b, n) => {
    const bar = h('i');
    bar.style.height = b.calls ? Math.max((b.calls / most) * 100, 3) + '%' : '0';
    const from = n > 0 ? duration(buckets[n - 1].below) + ' to ' : 'below ';
    return h('span', { class: 'col', title: `${from}${duration(b.below)}: ${plural(b.calls, 'call')}` }, h('small', null, b.calls ? count(b.calls) : ''), bar, h('small', { class: 'tick' }, n % 2 === 1 || buckets.length < 6 ? '< ' + bound(b.below) : ''));
  });
  return h('figure', { class: 'chart-box' }, h('figcaption', null, 'Latencies'), h('div', { class: 'chart', role: 'img', 'aria-label': 'Latencies: ' + buckets.filter((b) => b.calls).map((b) => `below ${duration(b.below)}: ${b.calls}`).join(', ') }, bars));
}

// The limit of a bucket, as a whole number of its unit.
const bound = (ns) => duration(ns).replace(/\.0+ /, ' ');

// The distribution for one method, in the buckets of the chart.
function spread(counts, buckets) {
  const all = counts ?? [];
  const most = Math.max(1, ...all);
  const words = all.map((n, k) => (n ? `below ${duration(buckets[k].below)}: ${count(n)}` : '')).filter(Boolean).join(', ');
  return h('span', { class: 'bars', role: 'img', 'aria-label': words || 'none', title: words || null }, all.map((n) => {
    const bar = h('i');
    bar.style.height = n ? Math.max((n / most) * 100, 12) + '%' : '0';
    return bar;
  }));
}

function table(s, view, sort, onsort) {
  const key = columns.find(([n]) => n === sort)[3];
  const groups = [...s.groups ?? []].sort((a, b) => key(b) - key(a));
  const longest = Math.max(1, ...groups.map((g) => g.sum));
  const used = columns.filter(([n, , , v]) => !['errors', 'unanswered', 'cancelled'].includes(n) || groups.some((g) => v(g) > 0));
  return h('table', { class: 'grid' },
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Method'), used.map(([n, label]) => h('th', { scope: 'col', class: 'num ' + n, 'aria-sort': n === sort ? 'descending' : null },
      h('button', { type: 'button', class: 'sort', onclick: () => onsort(n) }, n === 'unanswered' ? openWord(s) : label, n === sort ? ' ↓' : ''))))),
    h('tbody', null, groups.map((g) => {
      const name = g.others ? '(others)' : [g.method, g.name].filter(Boolean).join(' ');
      const bar = h('i', { class: 'share' });
      bar.style.width = (g.sum / longest) * 100 + '%';
      const query = g.others ? '' : api.saved ? [g.method, g.name].filter(Boolean).map(word).join(' ') : `method:${word(g.method)}` + (g.name && g.method !== 'prompts/get' ? ` tool:${word(g.name)}` : g.name ? ` prompt:${word(g.name)}` : '');
      return h('tr', null, h('th', { scope: 'row' }, h('span', { class: 'arrow ' + (g.lane === 1 ? 'up' : 'down'), title: g.lane === 1 ? 'sent by the client' : 'sent by the server' }, arrows[g.lane]),
        h('button', { type: 'button', class: 'link', disabled: !query, onclick: () => { view.setMode('calls'); view.filter.set(query); } }, name), g.nested && h('span', { class: 'note' }, ' nested')),
      used.map(([n, , text]) => (n === 'spread' ? h('td', { class: 'spread' }, spread(g.spread, s.histogram)) : h('td', { class: `num ${n}` + (n === 'errors' || n === 'unanswered' && !s.live ? ' bad' : '') }, text(g), n === 'sum' ? bar : null))));
    })),
    s.more_groups ? h('tfoot', null, h('tr', null, h('td', { colspan: used.length + 1 }, `and ${count(s.more_groups)} more`))) : null);
}

const stateCell = (name) => {
  const s = stateWord(name);
  return h('td', { class: s.look }, s.shape + ' ' + s.word);
};

const word = (s) => (/^[^\s",*()/][^\s",*()]*$/.test(s) ? s : '"' + s.replaceAll('\\', '\\\\').replaceAll('"', '\\"') + '"');

function calls(s, view) {
  const go = (id) => () => { view.selected = id; view.setMode('calls'); };
  const list = (title, all) => all.length > 0 && h('section', null, h('h3', null, title), h('table', { class: 'grid' }, h('tbody', null, all.map((c) => h('tr', null,
    h('td', { class: 'num' }, h('button', { type: 'button', class: 'link', onclick: go(c.n) }, '#' + seqOf(c.n))),
    h('th', { scope: 'row' }, h('span', { class: 'arrow ' + (c.lane === 1 ? 'up' : 'down') }, arrows[c.lane]), ' ', c.method, ' ', h('span', { class: 'about' }, c.about ?? '')),
    stateCell(c.state), h('td', { class: 'num' }, offset(c.at)), h('td', { class: 'num' }, duration(c.took)))))));
  return h('div', { class: 'two' }, list(openWord(s), s.unanswered), list('Slowest', s.slowest));
}
