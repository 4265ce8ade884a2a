// The findings: what violates the specification, or breaks clients.

import * as api from './source.js';
import { argOf } from './copy.js';
import { announce, fill, h } from './dom.js';
import { idOf } from './rows.js';
import { code, load } from './summary.js';
import { count, plural } from './text.js';

// The look of a class. Frames with findings that look bad are marked in the list.
const looks = { 'client-breaking': 'bad', must: 'bad', should: 'odd', observation: 'dim' };

/** Judges the recording, and shows the findings in el. */
export async function showFindings(el, view, signal) {
  const found = await load(el, view, 'Judging …', api.findings(view.key, view.sessions.chosen, signal));
  if (!found) return;
  view.flags = flagsOf(found.findings);
  const { chosen, more } = view.sessions;
  const again = async () => {
    await showFindings(el, view, signal);
    el.firstChild.focus();
  };
  fill(el, h('div', { class: 'findings', tabindex: '0', 'aria-label': 'Findings', role: 'region' },
    more && h('p', { class: 'note' }, `The findings are those of all frames${chosen ? ' of session ' + chosen : ''}: the filter applies to the other views.`),
    found.live && h('p', { class: 'note' }, `The recording is live: it was judged up to #${found.read}. `, h('button', { type: 'button', class: 'quiet', onclick: again }, 'Judge again')),
    summary(found, view), groups(found.findings, view)));
  announce(plural(found.findings.length, 'finding'));
}

// The rules that frames violate, by the number of the frame.
function flagsOf(findings) {
  const flags = new Map();
  for (const f of findings.filter((f) => looks[f.class] === 'bad')) {
    for (const seq of f.frames) {
      const before = flags.get(seq) ?? 'Violates';
      if (!before.split(' ').includes(f.rule)) flags.set(seq, before + ' ' + f.rule);
    }
  }
  return flags;
}

function summary({ findings, left = 0, more, held, not_judged: not }, view) {
  const rules = `${plural(held, 'rule')} ${held === 1 ? 'holds' : 'hold'}` + (not ? `, ${count(not)} could not be judged` : '');
  if (findings.length === 0) return h('div', { class: 'empty' }, h('p', { class: 'big' }, 'No findings'), h('p', null, rules + '.'));
  return [h('p', null, h('strong', null, plural(findings.length + left, 'finding')), more ? ` and ${count(more)} more violations` : '', `; ${rules}.`),
    left > 0 && h('p', { class: 'note' }, `The worst ${count(findings.length)} are shown. `, api.saved ? null : [code('check', view.recording ? argOf(view.recording) : view.key), ' prints all.'])];
}

// A section per class, and in it one per rule. Findings are in this order.
function groups(findings, view) {
  const all = [];
  let group, list, last;
  for (const f of findings) {
    if (f.class !== last?.class) all.push(group = h('section', { class: looks[f.class] }, h('h2', null, f.class)));
    if (f.class !== last?.class || f.rule !== last.rule) {
      list = h('ul');
      group.append(h('article', null, h('h3', { class: 'mono' }, f.rule), list, h('p', null, f.requires), h('p', null, 'Fix: ', f.fix), h('p', { class: 'note' }, f.source)));
    }
    list.append(line(f, view));
    last = f;
  }
  return all;
}

const line = (f, view) => h('li', null,
  f.frames.map((seq) => [h('button', { type: 'button', class: 'link', onclick: () => go(seq, view) }, '#' + seq), ' ']),
  f.count > f.frames.length && h('span', { class: 'note' }, `… (${count(f.count)}×) `),
  h('strong', null, f.subject ?? ''), f.subject && f.path ? ' ' : '', h('code', null, f.path ?? ''), f.text && (f.subject || f.path) ? ': ' : '', f.text ?? '');

// Selects a frame in the frame view, clearing a filter that hides it.
function go(seq, view) {
  const id = view.rows.first(seq) || idOf(seq);
  view.selected = id;
  if (view.rows.isPlumbing(view.rows.find(id))) view.http.on = true;
  view.setMode('frames');
  if (view.rows.find(id) >= 0) return;
  const { chosen } = view.sessions;
  view.awaited = id; // it arrives with the next rows, if any
  if (view.query === (chosen && 'session:' + chosen) && view.idle) view.select(id);
  else view.filter.set(chosen && 'session:' + chosen);
}
