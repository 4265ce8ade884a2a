// A recorded request as a command. Whatever was recorded, the command must send only this
// request: not to another host, and without reading local files.

import { shellQuote } from './copy.js';

const token = /^[\w!#$%&'*+.^`|~-]+$/;
const own = /^(host|content-length|transfer-encoding|connection|accept-encoding)$/i;

/**
 * The command that repeats a request, '' if parts of it are unknown. head is the head of
 * the request, origin the origin of the server, body the text of the body.
 */
export function curlCommand(head, origin, body) {
  if (!head || !origin || /[\0\ufffd]/.test(body)) return '';
  const [, method, target] = head.line.match(/^\S+ (\S+) (\/\S*)/) ?? [];
  const fields = (head.header ?? []).filter(([name]) => token.test(name) && !own.test(name));
  if (!target || !/^[A-Z]+$/i.test(method) || [target, ...fields.flat()].some((s) => s.endsWith('…'))) return '';
  const all = ['curl --globoff', '-X ' + shellQuote(method), ...fields.map(([name, value]) => '-H ' + shellQuote(value ? `${name}: ${value}` : name + ';'))];
  if (body) all.push('--data-raw ' + shellQuote(body)); // unlike --data, this does not read a file for @
  // Joined as text, because a target may begin with two slashes, which must not become a host.
  return [...all, shellQuote(origin.replace(/\/$/, '') + target)].join(' \\\n  ');
}
