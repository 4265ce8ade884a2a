// Texts for the user. Recorded text passes through show() first; the server has escaped the
// texts of rows.

// The characters that are invisible, reorder text or are not Unicode: those of the Go package
// internal/term/escape, and unpaired surrogates.
const hazards = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

const escaped = (c) => {
  const code = c.codePointAt(0);
  if (code === 9) return '\\t';
  if (code === 10) return '\\n';
  if (code === 13) return '\\r';
  return code < 256 ? '\\x' + code.toString(16).padStart(2, '0') : '\\u{' + code.toString(16) + '}';
};

/** A text as one safe line, with hazards escaped. */
export const show = (s) => s.replace(hazards, escaped);

/** The same, but line breaks and tabs are kept. */
export const showLines = (s) => s.replace(hazards, (c) => (c === '\n' || c === '\t' ? c : escaped(c)));

/** A duration in ns with its unit: 85 µs, 1.2 ms, 123 ms, 4.56 s, 1m05s. */
export function duration(ns) {
  if (ns < -500) return '-' + duration(-ns); // smaller values are 0 µs
  ns = Math.max(ns, 0);
  if (ns < 999500) return (ns / 1e3).toFixed(0) + ' µs';
  if (ns < 99950e3) return (ns / 1e6).toFixed(1) + ' ms';
  if (ns < 999500e3) return (ns / 1e6).toFixed(0) + ' ms';
  if (ns < 9995e6) return (ns / 1e9).toFixed(2) + ' s';
  if (ns < 59950e6) return (ns / 1e9).toFixed(1) + ' s';
  const s = Math.round(ns / 1e9);
  const two = (n) => String(n).padStart(2, '0');
  if (s < 3600) return Math.floor(s / 60) + 'm' + two(s % 60) + 's';
  if (s < 86400) return Math.floor(s / 3600) + 'h' + two(Math.floor(s / 60) % 60) + 'm';
  return Math.floor(s / 86400) + 'd' + two(Math.floor(s / 3600) % 24) + 'h';
}

/** A time since the start, in ns, always with milliseconds: 0.012, 1:02.500. */
export function offset(ns) {
  const ms = Math.floor(ns / 1e6);
  const s = Math.floor(ms / 1000);
  const frac = '.' + String(ms % 1000).padStart(3, '0');
  if (s < 60) return s + frac;
  const two = (n) => String(n).padStart(2, '0');
  if (s < 3600) return Math.floor(s / 60) + ':' + two(s % 60) + frac;
  return Math.floor(s / 3600) + ':' + two(Math.floor(s / 60) % 60) + ':' + two(s % 60) + frac;
}

/** A number of bytes with its unit: 845 B, 1.2 KiB. */
export function size(n) {
  for (const [unit, of] of [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
    const v = n / of;
    if (v >= 1 || v * 1024 >= 1023.5) return (v < 9.95 ? v.toFixed(1).replace(/\.0$/, '') : v.toFixed(0)) + ' ' + unit;
  }
  return n + ' B';
}

const grouped = new Intl.NumberFormat('en');

/** A number with thousands separators. */
export const count = (n) => grouped.format(n);

/** A number with its noun. */
export const plural = (n, one, many = one + 's') => count(n) + ' ' + (n === 1 ? one : many);

/** The start of a recording, relative to today. */
export function started(date, now = new Date()) {
  if (Number.isNaN(date.getTime()) || date.getFullYear() < 1971) return 'unknown';
  const day = (d) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
  const days = Math.round((day(now) - day(date)) / 864e5);
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
  if (days === 0) return 'today ' + time;
  if (days === 1) return 'yesterday ' + time;
  return date.toISOString().slice(0, 10) + ' ' + time;
}

/** The local time of day, with milliseconds. */
export function clock(date) {
  const two = (n) => String(n).padStart(2, '0');
  return two(date.getHours()) + ':' + two(date.getMinutes()) + ':' + two(date.getSeconds()) + '.' + String(date.getMilliseconds()).padStart(3, '0');
}
