package redact

import (
	"bytes"
	"slices"
	"strings"
)

// Places of HTTP in which credentials have no name of their own. The HTTP tap masks them,
// and so does a Redactor in HTTP recordings.

// openKeys are the fields whose names end in key and that have no secret. Servers
// without OAuth take their credentials from fields such as X-Functions-Key.
var openKeys = map[string]bool{
	"sec-websocket-key": true, "idempotency-key": true, "x-idempotency-key": true, "surrogate-key": true, "cache-key": true,
	"x-cache-key": true, "partition-key": true, "routing-key": true, "sort-key": true, "public-key": true, "x-public-key": true, "primary-key": true, "foreign-key": true,
	"primarykey": true, "foreignkey": true, "publickey": true, "sortkey": true, "partitionkey": true, "cachekey": true, "idempotencykey": true,
}

// SecretField reports whether a header field has a credential, by its name.
func SecretField(name string) bool {
	lower := strings.ToLower(name)
	return SecretName(name) || IsKey(name) || strings.HasSuffix(lower, "-session") || lower == "session" ||
		strings.HasSuffix(lower, "-crumb") || lower == "authentication" || lower == "dpop"
}

// IsKey reports whether a name ends in the word key, and is not the name of a key that is not
// secret.
func IsKey(name string) bool {
	lower := strings.ToLower(name)
	return (strings.HasSuffix(lower, "-key") || strings.HasSuffix(lower, "_key") || strings.HasSuffix(name, "Key") || lower == "key") &&
		!openKeys[strings.ReplaceAll(lower, "_", "-")]
}

// LooksRandom reports whether a text looks machine-generated: it is long, and letters and
// digits, or upper and lower case, alternate unlike in any word.
func LooksRandom(s string) bool {
	const (
		least = 16 // bytes, without word separators
		word  = 4  // maximum average length of a run of one kind
	)
	n, turns, digits, letters := 0, 0, 0, 0
	last := byte(0)
	for i := range len(s) {
		kind := byte(0)
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			kind = '0'
			digits++
		case 'a' <= c && c <= 'z':
			kind = 'a'
			letters++
		case 'A' <= c && c <= 'Z':
			kind = 'A'
			letters++
		case c == '-' || c == '_' || c == '.' || c == '~' || c == '=' || c == '%' || c == '+' || c == ':':
			continue
		default:
			return false
		}
		if n++; kind != last && last != 0 && !(last == 'A' && kind == 'a') {
			turns++
		}
		last = kind
	}
	return n >= least && digits >= 2 && letters >= 2 && (turns+1)*word >= n && slices.ContainsFunc(strings.FieldsFunc(s, separates), mixed)
}

// separates reports whether a rune separates the words of a name, such as Windows-11-24H2-x64, or
// the numbers of a date.
func separates(r rune) bool { return strings.ContainsRune("-_.:~+", r) }

// mixed reports whether a part between separators is too long for one of a name that has digits.
func mixed(part string) bool {
	const longest = 7 // as in MCP2026
	figures := strings.Trim(part, "0123456789")
	return len(part) > longest && figures != "" && (len(figures) < len(part) || strings.ContainsAny(figures, "0123456789") || strings.ToLower(figures) != figures)
}

// maxProtocol is the maximum length of the name of a WebSocket's subprotocol. Pages cannot set
// other fields, so some put a token there.
const maxProtocol = 40

// announces are subprotocols that precede a credential.
var announces = map[string]bool{"bearer": true, "token": true, "access_token": true, "authorization": true, "auth": true, "jwt": true}

// SecretProtocol reports whether a WebSocket's subprotocol is a credential: it is too long
// for a name, looks random, or follows one that announces it.
func SecretProtocol(name, before string) bool {
	return name != "" && (len(name) > maxProtocol || announces[strings.ToLower(before)] || slices.ContainsFunc(strings.Split(name, "."), LooksRandom))
}

// protocolHits finds the credentials in a list of subprotocols.
func protocolHits(value []byte) (hits []hit) {
	at, before := 0, ""
	for name := range strings.SplitSeq(string(value), ",") {
		plain := strings.Trim(name, " \t")
		if SecretProtocol(plain, before) {
			from := at + strings.Index(name, plain)
			hits = append(hits, hit{start: from, end: from + len(plain), rule: randomRule})
		}
		at, before = at+len(name)+1, plain
	}
	return hits
}

// randomRule is the rule for values that look random, in places from which servers take keys.
const randomRule = "url-path"

// isURL reports whether a text is a URL of HTTP.
func isURL(text []byte) bool {
	return bytes.HasPrefix(text, []byte("http://")) || bytes.HasPrefix(text, []byte("https://"))
}

// urlHits finds the secrets of a URL through which a client reaches a server.
func (r *Redactor) urlHits(value []byte) []hit {
	return slices.Concat(r.textHits(value), locationHits(value), pathHits(value))
}

// argumentHits finds the secrets of an argument of a command, and of the URLs in it.
func (r *Redactor) argumentHits(value []byte) []hit {
	if isURL(value) {
		return r.urlHits(value)
	}
	hits := r.textHits(value)
	if !bytes.Contains(value, []byte("://")) {
		return hits
	}
	starts := r.expression(urlExpression).FindAllIndex(value, -1)
	for i, m := range starts {
		end := len(value)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		url := value[m[0]:end]
		if n := bytes.IndexAny(url, " \t\r\n\"'`<>\\"); n >= 0 {
			url = url[:n]
		}
		url = bytes.TrimRight(url, ",;|)")
		for _, h := range append(locationHits(url), pathHits(url)...) {
			h.start, h.end = h.start+m[0], h.end+m[0]
			hits = append(hits, h)
		}
	}
	return hits
}

const urlExpression = `(?i)https?://`

// pathHits finds the segments of the path of a URL that look random.
func pathHits(value []byte) (hits []hit) {
	end, at := len(value), 0
	if n := bytes.IndexAny(value, "?#"); n >= 0 {
		end = n
	}
	if n := bytes.Index(value[:end], []byte("//")); n == 0 || n > 0 && value[n-1] == ':' {
		at = n + 2
		n := bytes.IndexByte(value[at:end], '/')
		if n < 0 {
			return nil
		}
		at += n
	}
	for at < end {
		to := end
		if n := bytes.IndexByte(value[at:end], '/'); n >= 0 {
			to = at + n
		}
		if LooksRandom(string(value[at:to])) {
			hits = append(hits, hit{start: at, end: to, rule: randomRule})
		}
		at = to + 1
	}
	return hits
}
