// The head of a recording: its client and server, and its status.

import * as api from './source.js';
import { argOf, command, menuButton, save } from './copy.js';
import { fill, h, setText } from './dom.js';
import { count, duration, plural, size, started } from './text.js';

/** The name of a side, with its version. */
export const party = (p, otherwise) => (p?.name || p?.title ? [h('strong', null, p.title || p.name), p.version && h('span', { class: 'version' }, ' ' + p.version)] : h('span', { class: 'dim' }, otherwise));

/** The protocol revision of a recording. */
export function revision(rec) {
  if (rec.dialect) return 'dialect ' + rec.dialect;
  if (rec.revision) return rec.revision;
  return rec.requested ? rec.requested + '?' : '';
}

/** The status of a recording: [shape, word, look], or null if it ended normally. */
export function status(rec) {
  switch (rec.status) {
    case 'live': return ['●', 'live', 'live'];
    case 'cut': return ['✂', ['cut off', rec.gaps && 'gaps', rec.exit].filter(Boolean).join(', '), 'bad'];
    case 'damaged': return ['✕', 'damaged', 'bad'];
    case 'denied': return ['✕', 'no permission', 'bad'];
  }
  return rec.gaps || rec.exit ? ['✕', [rec.gaps && 'gaps', rec.exit].filter(Boolean).join(', '), 'bad'] : null;
}

export const statusChip = (rec) => {
  const s = status(rec);
  return s && h('span', { class: 'status ' + s[2] }, h('span', { class: 'shape', 'aria-hidden': 'true' }, s[0]), ' ', s[1]);
};

/** A command of mcptap. */
export const code = (...words) => h('code', null, command(...words));

/** How to solve a problem, by kind; view is the view of a recording, if any. */
export function remedy(kind, view) {
  switch (kind) {
    case 'gone': return [' Start ', code('web'), ' again; on the same address this page reconnects automatically.'];
    case 'locked': return [' Open the URL that ', code('web'), ' prints: each start has a new URL.'];
    case 'deleted': return [' ', code('ls'), ' lists the recordings.'];
    case 'unreadable': return view ? [' ', code('show', view.recording ? argOf(view.recording) : view.key), ' lists its frames.'] : null;
  }
  return null;
}

/** Shows that something is loading, and why if that fails. Returns what was loaded. */
export async function load(el, view, word, reading) {
  fill(el, h('div', { class: 'empty' }, h('p', { class: 'big' }, word)));
  try {
    return await reading;
  } catch (err) {
    if (err.name !== 'AbortError') fill(el, h('div', { class: 'empty' }, h('p', { class: 'fault' }, err.message, remedy(err.kind, view))));
    return null;
  }
}

export class Summary {
  el = h('header', { class: 'summary' }, h('h1', null, 'Loading …'));
  formats = [];

  /** The duration of the recording in ns; over means that it has ended. */
  now(over) {
    const { rec } = this;
    return rec?.now && !over ? rec.now + (performance.now() - this.shownAt) * 1e6 : (rec?.duration ?? 0);
  }

  /** Updates the duration of a live recording. */
  tick() {
    if (this.rec) setText(this.took, duration(this.now(false)));
  }

  show(rec, over) {
    if (rec !== this.rec) this.shownAt = performance.now();
    this.rec = rec;
    const stamp = JSON.stringify([rec.label, rec.client, rec.server, rec.status, rec.revision, rec.gaps?.length, Math.round(rec.duration / 1e9), this.formats.length]);
    if (stamp === this.stamp) return;
    this.stamp = stamp;
    this.took = h('span', null, duration(this.now(over)));
    const facts = [revision(rec), rec.transport, started(new Date(rec.start)), this.took, size(rec.size)].filter(Boolean);
    fill(this.el,
      h('h1', { title: [rec.path, ...(rec.command ? ['', rec.command.join(' ')] : [])].join('\n') }, rec.label || rec.key),
      statusChip(rec),
      h('span', { class: 'parties' }, party(rec.client, 'client'), h('span', { class: 'wire', 'aria-label': 'connected to' }, '⇄'), party(rec.server, rec.transport === 'http' ? rec.upstream || 'server' : 'server')),
      h('span', { class: 'facts' }, facts.map((f) => (f === this.took ? f : h('span', null, f)))),
      this.compare && h('button', { type: 'button', class: 'quiet', title: 'Compare with another recording (d)', onclick: () => this.compare() }, 'Compare'),
      this.formats.length > 0 && menuButton('Export', 'Save the recording as …', () => this.formats.map((f) => ({ text: f.name, note: f.about, act: () => save(api.exportURL(rec.key, f.name)) }))));
  }

  /** Problems of the recording, and how to solve them. */
  banners({ recording: rec, key, problem, lost, locked, unknown, leave }) {
    const all = [];
    const add = (look, title, ...text) => all.push(h('div', { class: 'banner ' + look }, h('strong', null, title), ' ', text));
    const home = h('button', { type: 'button', class: 'link', onclick: leave }, 'All recordings');
    const here = rec ? 'The rows on this page are kept.' : '';
    if (lost > 0 && locked) add('bad', 'mcptap was restarted and has a new token.', here, remedy('locked'));
    else if (lost > 0) add('bad', 'mcptap does not respond.', here, remedy('gone'));
    if (unknown) add('odd', 'The link is invalid.', `${unknown} was ignored. `, !api.saved && home);
    if (!rec && (problem || lost > 0)) fill(this.el, h('h1', null, key));
    if (problem?.kind === 'deleted' && !rec) add('bad', `There is no recording ${key}.`, 'It was removed, or is in another directory.', remedy('deleted'), ' ', home);
    else if (problem?.kind === 'deleted') {
      add('bad', 'The recording was removed.', 'The rows on this page are kept until you leave it. ', home);
    } else if (problem) {
      add('bad', 'The recording cannot be read further.', problem.text.replace(/; `mcptap export.*$/, '.'), rec && ' To save the rest: ', rec && code('export', '--salvage', argOf(rec)));
    }
    if (!rec) return all;
    if (rec.status === 'cut') add('odd', 'Cut off.', 'Its end was not recorded: the tap may have been killed, or the machine stopped. The recording is complete up to that time', rec.problem ? ', but ' + rec.problem : '.');
    if (rec.gaps) {
      const missing = rec.gaps.reduce((n, g) => n + g.to - g.from + 1, 0);
      const where = rec.gaps.slice(0, 4).map((g) => (g.from === g.to ? `#${g.from}` : `#${g.from}–${g.to}`)).join(', ') + (rec.gaps.length > 4 ? ' …' : '');
      add('odd', 'Incomplete.', `${plural(missing, 'frame')} crossed unrecorded: ${where}. They reached the other side; only the recording lacks them.`);
    }
    if (rec.probe) add('', 'A probe.', 'The client started this server only to determine its protocol revision, and then started it again.');
    return all;
  }
}

export const framesOf = (rec) => count(Object.values(rec.frames).reduce((a, b) => a + b, 0));
