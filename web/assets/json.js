// Reads JSON without loss, in pieces. JSON.parse rounds numbers, drops members with duplicate
// names and needs the whole text; here a value is a position in the text, and its members
// are found when it is opened. The text may be truncated, and nested to any depth.

const space = /[ \t\r\n]*/y;
const bracketOrQuote = /["[\]{}]/g;
const endOfWord = /[,\]}\s]|$/g;

function skipSpace(text, at) {
  space.lastIndex = at;
  space.exec(text);
  return space.lastIndex;
}

/** The end of the string that begins at `at`, -1 if it is truncated. */
function stringEnd(text, at) {
  for (let i = at + 1; ; ) {
    const quote = text.indexOf('"', i);
    if (quote < 0) return -1;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === 92) slashes++;
    if (slashes % 2 === 0) return quote + 1;
    i = quote + 1;
  }
}

/** The end of the value that begins at `at`, -1 if it is truncated. */
function valueEnd(text, at) {
  const c = text[at];
  if (c === '"') return stringEnd(text, at);
  if (c !== '{' && c !== '[') {
    endOfWord.lastIndex = at;
    endOfWord.exec(text);
    return endOfWord.lastIndex - (endOfWord.lastIndex < text.length || /[,\]}\s]/.test(text[text.length - 1]) ? 1 : 0);
  }
  let depth = 0;
  bracketOrQuote.lastIndex = at;
  for (let m; (m = bracketOrQuote.exec(text)); ) {
    if (m[0] === '"') {
      const end = stringEnd(text, m.index);
      if (end < 0) return -1;
      bracketOrQuote.lastIndex = end;
    } else if (m[0] === '{' || m[0] === '[') depth++;
    else if (--depth === 0) return m.index + 1;
  }
  return -1;
}

const types = { '{': 'object', '[': 'array', '"': 'string', t: 'boolean', f: 'boolean', n: 'null' };

/** A Value is a JSON value at a position in a text. */
export class Value {
  constructor(text, from) {
    this.text = text;
    this.from = from;
    this.type = types[text[from]] ?? 'number';
    const end = valueEnd(text, from);
    this.cut = end < 0;
    this.to = this.cut ? text.length : end;
  }

  get container() {
    return this.type === 'object' || this.type === 'array';
  }

  /** The value as recorded. */
  get raw() {
    return this.text.slice(this.from, this.to);
  }

  /** The text of a string; if it is invalid, the text as recorded. */
  get string() {
    return unquote(this.raw);
  }

  /** Whether a container is empty. */
  get empty() {
    const at = skipSpace(this.text, this.from + 1);
    return this.text[at] === '}' || this.text[at] === ']';
  }

  /**
   * Members of a container, in order: {key, value}. `after` is the `next` of the
   * previous call, which is 0 if there are no more.
   */
  members(limit, after = 0) {
    const { text } = this;
    const found = [];
    let at = after || this.from + 1;
    let index = 0;
    for (;;) {
      at = skipSpace(text, at);
      if (at >= this.to || text[at] === '}' || text[at] === ']') return { found, next: 0 };
      if (found.length === limit) return { found, next: at };
      let key = index++;
      if (this.type === 'object') {
        if (text[at] !== '"') return { found, next: 0 };
        const end = stringEnd(text, at);
        if (end < 0) return { found, next: 0 };
        key = unquote(text.slice(at, end));
        at = skipSpace(text, end);
        if (text[at] !== ':') return { found, next: 0 };
        at = skipSpace(text, at + 1);
        if (at >= text.length) return { found, next: 0 };
      }
      const value = new Value(text, at);
      found.push({ key, value });
      if (value.cut) return { found, next: 0 };
      at = skipSpace(text, value.to);
      if (text[at] === ',') at++;
    }
  }

  /** The number of members, -1 if there are more than `most`. */
  size(most = 10_000) {
    let n = 0;
    for (let after = 0; ; ) {
      const { found, next } = this.members(1000, after);
      n += found.length;
      if (!next) return n;
      if (n >= most) return -1;
      after = next;
    }
  }
}

function unquote(raw) {
  try {
    return JSON.parse(raw);
  } catch {
    return raw.replace(/^"|"$/g, '');
  }
}

/** The value in a text, null if it does not look like JSON. */
export function parse(text) {
  const at = skipSpace(text, text.charCodeAt(0) === 0xfeff ? 1 : 0);
  if (at >= text.length || !/["{[\d\-tfn]/.test(text[at])) return null;
  const value = new Value(text, at);
  return value.container || value.cut || skipSpace(text, value.to) >= text.length ? value : null;
}

/** The JSON in a string, as in many tool results, or null if there is none. */
export function nested(s) {
  if (s.length < 2 || !/^\s*[{[]/.test(s)) return null;
  const value = parse(s);
  if (!value?.container || value.cut || s.slice(value.to).trim() !== '') return null;
  try {
    if (s.length < 1 << 20) JSON.parse(s);
  } catch {
    return null;
  }
  return value;
}

/** A path with one more step, as in result.content[0]["odd name"]. */
export function step(path, key) {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (/^[A-Za-z_$][\w$-]*$/.test(key)) return path ? `${path}.${key}` : key;
  return `${path}[${JSON.stringify(key)}]`;
}

const maxIndent = 40;

/**
 * Yields the lines of formatted JSON, one member per line: lists of [kind, text], where kind
 * is key, string, number, word or "". Nesting beyond 40 levels stays on one line; otherwise
 * hostile nesting would turn kilobytes into megabytes.
 */
export function* lines(text) {
  const token = /["{}[\],:]|[^\s{}[\],:"]+/g;
  let line = [];
  let depth = 0;
  let indent = '';
  const flush = function* () {
    if (line.length > 0) yield [['', indent], ...line];
    line = [];
    indent = '  '.repeat(Math.min(depth, maxIndent));
  };
  let before = '';
  for (let m; (m = token.exec(text)); ) {
    let t = m[0];
    if (t === '"') {
      const end = stringEnd(text, m.index);
      t = text.slice(m.index, end < 0 ? text.length : end);
      token.lastIndex = m.index + t.length;
    }
    if (t === '}' || t === ']') {
      const deep = depth > maxIndent;
      depth = Math.max(depth - 1, 0);
      if (!deep && before !== '{' && before !== '[') yield* flush();
      if (line.length === 0) indent = '  '.repeat(Math.min(depth, maxIndent));
      line.push(['', t]);
    } else if (t === ',') {
      line.push(['', depth > maxIndent ? ', ' : ',']);
      if (depth <= maxIndent) yield* flush();
    } else if (t === ':') line.push(['', ': ']);
    else {
      if ((before === '{' || before === '[') && depth <= maxIndent) yield* flush();
      if (t === '{' || t === '[') {
        line.push(['', t]);
        depth++;
      } else line.push([kindOf(t, text, token.lastIndex), t]);
    }
    before = t.length === 1 ? t : '"';
    if (line.length > 4096) yield* flush();
  }
  yield* flush();
}

const afterString = /\s*:/y;

function kindOf(t, text, end) {
  if (t[0] !== '"') return /^-?\d/.test(t) ? 'number' : 'word';
  afterString.lastIndex = end;
  return afterString.test(text) ? 'key' : 'string';
}
