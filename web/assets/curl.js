// A recorded request as a command. Who pastes it trusts that it does this request
// and nothing else, whatever was recorded: no other host, no file of theirs.

import { shellQuote } from './copy.js';

const token = /^[\w!#$%&'*+.^`|~-]+$/;
const own = /^(host|content-length|transfer-encoding|connection|accept-encoding)$/i;

/**
 * The command that sends a request again, '' where not all of it is known. head is
 * that of the request, origin where it went to, body its text.
 */
export function curlCommand(head, origin, body) {
  if (!head || !origin || /[\0\ufffd]/.test(body)) return '';
  const [, method, target] = head.line.match(/^\S+ (\S+) (\/\S*)/) ?? [];
  const fields = (head.header ?? []).filter(([name]) => token.test(name) && !own.test(name));
  if (!target || !/^[A-Z]+$/i.test(method) || [target, ...fields.flat()].some((s) => s.endsWith('…'))) return '';
  const all = ['curl --globoff', '-X ' + shellQuote(method), ...fields.map(([name, value]) => '-H ' + shellQuote(value ? `${name}: ${value}` : name + ';'))];
  if (body) all.push('--data-raw ' + shellQuote(body)); // which opens no file for an @
  // Joined, as a target may begin with two slashes, which is no other host.
  return [...all, shellQuote(origin.replace(/\/$/, '') + target)].join(' \\\n  ');
}
