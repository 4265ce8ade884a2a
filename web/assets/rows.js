// The rows of a view, in columns: 200,000 rows need 25 MB, a fifth of what objects would need.
// Rows are only added and updated. `order` has the rows that are shown, in order.

const batchIndex = 16383;

/** The frame number in an id, and the message's index in its batch. */
export const seqOf = (id) => Math.floor(id / 16384);
export const indexOf = (id) => id % 16384;

/** The name of a frame in the URL: 17, or 17.2 for the third message of its batch. */
export const nameOf = (id) => (indexOf(id) === 0 ? String(seqOf(id)) : `${seqOf(id)}.${indexOf(id)}`);

/** The id of such a name, 0 if it is invalid. */
export const idOf = (name) => {
  const [seq, index = 0] = String(name).split('.').map(Number);
  return Number.isSafeInteger(seq) && seq > 0 ? seq * 16384 + (index || 0) : 0;
};

/** Marks of a row; see row.go. */
export const mark = { failed: 1, truncated: 2, guess: 4, late: 8, clash: 16, batch: 32, member: 64, sameCall: 128, error: 256, plumbing: 512, aside: 1024, byTap: 2048, gone: 0x8000 };

export const lanes = { lifecycle: 0, toServer: 1, toClient: 2, stderr: 3 };

// HTTP events around a message.
const envelopes = new Set(['request', 'response', 'end', 'connect', 'disconnect', 'rewrite']);

// A batch precedes its messages, although its id is above theirs.
const sortKey = (id) => (id % 16384 === batchIndex ? id - batchIndex - 0.5 : id);

const columns = {
  id: Float64Array, at: Float64Array, size: Float64Array, lane: Uint8Array, kind: Uint16Array, method: Uint32Array, detail: Uint32Array,
  marks: Uint16Array, role: Uint8Array, call: Float64Array, request: Float64Array, latency: Float64Array,
  previous: Float64Array, response: Float64Array, state: Uint8Array, end: Float64Array, depth: Uint8Array,
  kid: Int32Array, lastKid: Int32Array, sibling: Int32Array, under: Int32Array, parts: Uint32Array,
};

/** The states of a call: see session.States. */
export const states = ['', 'pending', 'needs input', 'working', 'listening', 'unanswered', 'lost', 'done', 'failed', 'error', 'refused', 'challenged', 'cut off', 'cancelled', 'too late', 'ended'];
const firstSettled = states.indexOf('done');
const failures = new Set(['failed', 'error', 'refused', 'challenged', 'cut off']);

/** An Interned maps equal texts to the same number. */
class Interned {
  texts = [''];
  numbers = new Map([['', 0]]);
  number(text = '') {
    let n = this.numbers.get(text);
    if (n === undefined) {
      n = this.texts.push(text) - 1;
      this.numbers.set(text, n);
    }
    return n;
  }
}

export class Rows {
  n = 0;
  #room = 1024;
  name = [];
  preview = [];
  // Values that only few rows have.
  fault = new Map();
  why = new Map(); // why the call that a row begins failed
  body = new Map(); // of the HTTP response that refused the call
  parent = new Map();
  session = new Map();
  sessions = new Set();
  methods = new Interned();
  kinds = new Interned();
  roles = new Interned();
  order = new Uint32Array(1024);
  shown = 0; // the number of used elements of order
  errors = 0;
  plumbing = 0; // rows that only show how HTTP carries messages
  orphans = 0; // responses without a request
  waiting = new Set(); // rows of calls that wait for a response
  cancelled = new Set(); // rows of cancelled calls
  // Incremented when rows are inserted into or removed from `order`.
  version = 0;
  #texts = new Map();
  #gone = new Set();

  constructor() {
    for (const [name, Type] of Object.entries(columns)) this[name] = new Type(this.#room);
  }

  #grow() {
    this.#room *= 2;
    for (const [name, Type] of Object.entries(columns)) {
      const bigger = new Type(this.#room);
      bigger.set(this[name]);
      this[name] = bigger;
    }
    const order = new Uint32Array(this.#room);
    order.set(this.order);
    this.order = order;
  }

  // Stores frequent texts once.
  #text(s) {
    if (!s) return '';
    const known = this.#texts.get(s);
    if (known !== undefined) return known;
    if (this.#texts.size > 4096) this.#texts.clear();
    this.#texts.set(s, s);
    return s;
  }

  /** Adds rows as the server sent them, skipping those that exist. */
  add(list) {
    const from = this.n;
    const late = [];
    for (const r of list) {
      if (this.shown === 0 || sortKey(r.n) > sortKey(this.id[this.order[this.shown - 1]])) {
        const i = this.#append(r); // this may replace order with a longer array
        this.order[this.shown++] = i;
      } else if (this.find(r.n) < 0) late.push(this.#append(r));
    }
    if (late.length > 0) this.#insert(late);
    for (let i = from; i < this.n; i++) this.#link(i);
  }

  #append(r) {
    if (this.n === this.#room) this.#grow();
    const i = this.n++;
    this.id[i] = r.n;
    this.at[i] = r.t;
    this.size[i] = r.s;
    this.lane[i] = r.l;
    this.kind[i] = this.kinds.number(r.k);
    this.method[i] = this.methods.number(r.m);
    this.marks[i] = r.b ?? 0;
    this.role[i] = this.roles.number(r.r);
    this.call[i] = r.c ?? 0;
    this.request[i] = r.q ?? 0;
    this.latency[i] = r.q ? (r.d ?? 0) : -1;
    this.previous[i] = r.v ?? 0;
    this.response[i] = this.end[i] = this.state[i] = this.depth[i] = this.parts[i] = 0;
    this.kid[i] = this.lastKid[i] = this.sibling[i] = this.under[i] = -1;
    this.detail[i] = this.methods.number(r.y);
    this.name[i] = this.#text(r.w);
    this.preview[i] = this.#text(r.a);
    if (r.f) this.fault.set(i, r.f);
    if (r.p) this.parent.set(i, r.p);
    if (r.g !== 1) this.session.set(i, r.g ?? 0); // most rows are in the first session
    if (r.g) this.sessions.add(r.g);
    if (this.isError(i)) this.errors++;
    else if (this.orphan(i)) this.orphans++;
    if (this.isPlumbing(i)) this.plumbing++;
    if (r.r === 'request' && r.c === r.n) {
      this.state[i] = 1;
      this.waiting.add(i);
    }
    return i;
  }

  // Inserts rows that the server had held back, in one merge.
  #insert(late) {
    late.sort((a, b) => sortKey(this.id[a]) - sortKey(this.id[b]));
    let from = this.shown - 1;
    let to = this.shown + late.length - 1;
    for (let k = late.length - 1; k >= 0; to--) {
      const here = sortKey(this.id[late[k]]);
      if (from >= 0 && sortKey(this.id[this.order[from]]) > here) this.order[to] = this.order[from--];
      else this.order[to] = late[k--];
    }
    this.shown += late.length;
    this.version++;
  }

  // Links a row to its call, or a call to its parent.
  #link(i) {
    const begins = this.call[i] === this.id[i];
    const above = begins ? (this.parent.get(i) ?? 0) : this.call[i];
    if (!above) return;
    const up = this.find(above);
    if (up < 0 || up === i) return;
    this.depth[i] = begins ? Math.min(this.depth[up] + 1, 12) : this.depth[up];
    this.under[i] = up;
    if (this.lastKid[up] < 0) this.kid[up] = i;
    else this.sibling[this.lastKid[up]] = i;
    this.lastKid[up] = i;
    if (!begins) this.parts[up]++;
  }

  /** Updates rows. */
  update(list) {
    for (const u of list) {
      const i = this.find(u.n);
      if (u.drop) {
        if (i >= 0) this.#gone.add(i);
        continue;
      }
      if (i < 0) continue;
      if (u.a) this.response[i] = u.a;
      if (u.o) this.body.set(i, u.o);
      if (u.d && this.request[i] === 0) this.latency[i] = u.d;
      if (u.e) this.end[i] = u.e;
      if (u.f) this.why.set(i, u.f);
      if (u.s) this.#settle(i, states.indexOf(u.s));
    }
    if (this.#gone.size > 0) this.#drop();
  }

  #settle(i, state) {
    this.state[i] = Math.max(state, 0);
    const name = this.stateName(i);
    this.waiting[this.settled(i) || name === 'listening' ? 'delete' : 'add'](i);
    this.cancelled[name === 'cancelled' || name === 'too late' ? 'add' : 'delete'](i);
  }

  // Removes rows that the filter no longer matches, with their dependent rows.
  #drop() {
    const out = (i) => {
      for (let hops = 0; i >= 0 && hops < 64; i = this.under[i], hops++) if (this.#gone.has(i)) return true;
      return false;
    };
    let to = 0;
    for (let k = 0; k < this.shown; k++) {
      const i = this.order[k];
      if (!out(i)) this.order[to++] = i;
      else {
        this.marks[i] |= mark.gone;
        if (this.under[i] >= 0 && !this.begins(i)) this.parts[this.under[i]]--;
        this.waiting.delete(i);
        this.cancelled.delete(i);
        if (this.isError(i)) this.errors--;
        else if (this.orphan(i)) this.orphans--;
      }
    }
    this.shown = to;
    this.#gone.clear();
    this.version++;
  }

  /** Whether a call has ended. */
  settled(i) {
    return this.state[i] >= firstSettled;
  }

  /** The index in order of an id, or of the next higher one. */
  place(id) {
    const key = sortKey(id);
    let lo = 0, hi = this.shown;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (sortKey(this.id[this.order[mid]]) < key) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  }

  /** The row of an id, -1 if there is none. */
  find(id) {
    const k = this.place(id);
    return k < this.shown && this.id[this.order[k]] === id ? this.order[k] : -1;
  }

  /** The id of the first row of a frame, 0 if there is none. */
  first(seq) {
    const k = this.place(seq * 16384 + batchIndex);
    const id = k < this.shown ? this.id[this.order[k]] : 0;
    return seqOf(id) === seq ? id : 0;
  }

  kindName(i) { return this.kinds.texts[this.kind[i]]; }
  methodName(i) { return this.methods.texts[this.method[i]]; }
  roleName(i) { return this.roles.texts[this.role[i]]; }
  stateName(i) { return states[this.state[i]]; }
  /** Whether a row is a response without an open request. */
  orphan(i) { return this.roleName(i) === 'orphan' || this.roleName(i) === 'repeat'; }
  failed(i) { return (this.marks[i] & mark.failed) !== 0; }
  /** Whether a row counts as an error. */
  isError(i) { return (this.marks[i] & mark.error) !== 0; }
  /** Whether a row only shows how HTTP carried something, and is not a failure. */
  envelope(i) { return (this.lane[i] === lanes.lifecycle ? envelopes.has(this.kindName(i)) : this.isPlumbing(i)) && !this.failed(i); }
  /** Whether a row only shows how HTTP carries messages; see view.Plumbing. */
  isPlumbing(i) { return (this.marks[i] & mark.plumbing) !== 0; }
  /** Whether the call view omits a row; see view.Notable. */
  isAside(i) { return (this.marks[i] & mark.aside) !== 0; }
  /** The preview of a response, and that of other rows. */
  result(i) { return this.kindName(i) === 'response' && this.lane[i] !== lanes.lifecycle ? this.preview[i] : ''; }
  args(i) { return this.kindName(i) === 'response' ? '' : this.preview[i]; }
  /** The last text of a line: the method, or the HTTP request line. */
  detailName(i) { return this.methods.texts[this.detail[i]]; }
  /** Whether a row begins a call. */
  begins(i) { return this.call[i] !== 0 && this.call[i] === this.id[i]; }
  /** Whether a call was refused by HTTP: its response is the head of an HTTP response, without a message. */
  refused(i) { return this.body.has(i) || this.stateName(i) === 'refused' || this.stateName(i) === 'challenged'; }
  /** Whether the call that a row begins failed. */
  callFailed(i) { return failures.has(this.stateName(i)); }
}
