// The filter box. The server parses the filter; the page shows its errors and
// completions. In a saved page, the box is a text search.

import * as api from './source.js';
import { fill, h } from './dom.js';

export class FilterBox {
  /** onchange(text) is called with each valid filter. */
  constructor(key, onchange) {
    this.key = key;
    this.onchange = onchange;
    this.applied = '';
    this.choice = -1;
    this.input = h('input', {
      type: 'text', class: 'mono', placeholder: api.saved ? 'Search: words in rows and frames  "a phrase"  -without' : 'Filter: is:error  tool:name  latency:>1s  text …',
      'aria-label': api.saved ? 'Search' : 'Filter',
      spellcheck: 'false',
      autocomplete: 'off', autocapitalize: 'off', role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false', 'aria-controls': 'completions',
      'aria-describedby': 'filter-problem',
      oninput: () => this.#check(true), onkeydown: (e) => this.#key(e), onfocus: () => this.#check(this.input.value === ''),
      onblur: () => setTimeout(() => this.#hide(), 150), onclick: () => this.#check(true),
    });
    this.mark = h('span', { class: 'underline', 'aria-hidden': 'true' });
    this.list = h('div', { class: 'completions', role: 'listbox', id: 'completions', hidden: true });
    this.problem = h('div', { class: 'filter-problem', id: 'filter-problem', role: 'status', hidden: true });
    this.clear = h('button', { type: 'button', class: 'quiet clear', title: 'Clear the filter (c)', 'aria-label': 'Clear the filter', hidden: true, onclick: () => this.set('') }, '✕');
    this.el = h('div', { class: 'filter', role: 'search' }, h('span', { class: 'field' }, this.input, this.mark), this.clear, this.list, this.problem);
  }

  /** Sets the filter and applies it. */
  set(text) {
    this.input.value = text;
    this.#hide();
    this.complain(null);
    this.#apply(text);
  }

  /** Adds a term, or a value to search for. */
  add(term) {
    const now = this.input.value.trim();
    this.set(now && !` ${now} `.includes(` ${term} `) ? now + ' ' + term : now || term);
  }

  #apply(text) {
    this.clear.hidden = text === '';
    if (text === this.applied) return;
    this.applied = text;
    this.onchange(text);
  }

  // Checks the text that was typed.
  async #check(complete) {
    this.stop?.abort();
    this.stop = new AbortController();
    const text = this.input.value;
    this.clear.hidden = text === '';
    let res;
    try {
      res = await api.complete(this.key, text, this.input.selectionStart, this.stop.signal);
    } catch {
      return;
    }
    if (text !== this.input.value) return;
    this.complain(res.problem, text);
    if (complete && document.activeElement === this.input) this.#offer(res.completions ?? []);
    if (!res.problem) {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.#apply(text), 200);
    }
  }

  /** Shows an error in the filter, or clears it. */
  complain(problem, text = this.input.value) {
    this.problem.hidden = !problem;
    this.mark.hidden = !problem;
    this.input.setAttribute('aria-invalid', String(Boolean(problem)));
    if (!problem) return;
    // The underline: the same characters, invisible, before the error.
    const from = problem.from ?? 0;
    const to = Math.max(problem.to ?? from, from + 1);
    fill(this.mark, h('span', { class: 'ghost' }, text.slice(0, from)), h('span', { class: 'wave' }, text.slice(from, to) || ' '));
    this.mark.scrollLeft = this.input.scrollLeft;
    fill(this.problem, h('strong', null, problem.text), problem.help && ` — ${problem.help}`);
  }

  #offer(list) {
    const chosen = this.offers?.[this.choice]?.text;
    this.choice = -1;
    this.offeredFor = this.input.value;
    // Omit those that would not change the text.
    this.offers = list.filter((c) => this.input.value.slice(c.from, c.to) !== c.text).slice(0, 60);
    this.list.hidden = this.offers.length === 0;
    this.input.setAttribute('aria-expanded', String(!this.list.hidden));
    this.input.removeAttribute('aria-activedescendant');
    fill(this.list, this.offers.map((c, n) => h('div', {
      role: 'option', id: 'completion-' + n, 'aria-selected': 'false',
      onpointerdown: (e) => { e.preventDefault(); this.#take(c); },
    }, h('span', { class: 'mono' }, c.text), c.help && h('span', { class: 'note' }, c.help))));
    this.list.scrollTop = 0;
    // Keep the selection if typing is faster than the server.
    const same = this.offers.findIndex((c) => c.text === chosen);
    if (same >= 0) this.#choose(same);
  }

  // Whether the completions are for an earlier text: typing may be faster than the
  // server.
  get #stale() {
    return this.offeredFor !== this.input.value;
  }

  #hide() {
    this.list.hidden = true;
    this.choice = -1;
    this.input.setAttribute('aria-expanded', 'false');
  }

  #take(c) {
    if (this.#stale) return;
    const { value } = this.input;
    const ends = c.text.endsWith(':');
    const space = ends || value.slice(c.to).startsWith(' ') ? '' : ' ';
    this.input.value = value.slice(0, c.from) + c.text + space + value.slice(c.to);
    const at = c.from + c.text.length + space.length;
    this.input.setSelectionRange(at, at);
    this.#check(ends);
    if (!ends) this.#hide();
  }

  // Accepts the selection once the completions for the current text have arrived.
  async #takeChoice() {
    if (this.#stale) await this.#check(true);
    if (this.choice >= 0) this.#take(this.offers[this.choice]);
  }

  #choose(n) {
    const all = [...this.list.children];
    all[this.choice]?.setAttribute('aria-selected', 'false');
    this.choice = (n + all.length) % all.length;
    all[this.choice].setAttribute('aria-selected', 'true');
    all[this.choice].scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', 'completion-' + this.choice);
  }

  #key(e) {
    const open = !this.list.hidden;
    switch (e.key) {
      case 'ArrowDown':
        if (open) this.#choose(this.choice + 1);
        else this.#check(true);
        break;
      case 'ArrowUp':
        if (!open) return;
        this.#choose(this.choice < 0 ? -1 : this.choice - 1);
        break;
      case 'Enter':
        if (open && this.choice >= 0) this.#takeChoice();
        else {
          this.#hide();
          this.input.dispatchEvent(new CustomEvent('leave', { bubbles: true }));
        }
        break;
      case 'Escape':
        if (open) this.#hide();
        else this.input.dispatchEvent(new CustomEvent('leave', { bubbles: true }));
        break;
      default:
        return;
    }
    e.preventDefault();
    e.stopPropagation();
  }
}
