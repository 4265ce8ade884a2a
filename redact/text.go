package redact

import (
	"bytes"
	"net/url"
	"slices"

	"github.com/mcptap/mcptap/tap"
)

// A wordKind is the reason for which the automaton searches for a word.
type wordKind struct {
	kind  uint8
	shape *shape
	// size is the number of bytes of the word that belong to a name.
	size int
}

const (
	wordShape   uint8 = iota // prefix of a shape
	wordName                 // name, or its end
	wordURL                  // ://
	wordKey                  // first line of a private key
	wordScheme               // authentication scheme
	wordJWT                  // {" in base64
	wordAt                   // @ of an e-mail address
	wordUser                 // flag before user:password
	wordContext              // anchor of a context
	wordEscape               // an escape, which may hide any other word
)

// vocabulary builds the automaton.
func vocabulary(opt *Options) (*automaton, []wordKind) {
	var words []string
	var kinds []wordKind
	add := func(w string, k wordKind) {
		words, kinds = append(words, w), append(kinds, k)
	}
	shapes, err := parseShapes(shapesText)
	if err != nil {
		panic("redact: " + err.Error())
	}
	for i := range shapes {
		add(shapes[i].prefix, wordKind{kind: wordShape, shape: &shapes[i]})
	}
	for _, w := range nameWords() {
		size := len(w)
		if i := bytes.IndexAny([]byte(w), "\"\\=:%,;|\t\r\n"); i >= 0 {
			size = i
		}
		add(w, wordKind{kind: wordName, size: len(bytes.TrimRight([]byte(w[:size]), " "))})
	}
	add("://", wordKind{kind: wordURL})
	add(`:\/\/`, wordKind{kind: wordURL})
	add("-----begin", wordKind{kind: wordKey})
	for _, w := range []string{"bearer ", "basic ", "bearer+", "basic+"} { // + is a space in URLs
		add(w, wordKind{kind: wordScheme})
	}
	add("eyj", wordKind{kind: wordJWT})
	for _, w := range []string{" -u ", " --user ", " --user=", " --proxy-user "} {
		add(w, wordKind{kind: wordUser})
	}
	for _, w := range []string{`\u00`, `\u043f`, `\u041f`, `\u30d1`, `\u5bc6`, `\ube44`, `\/`, // the first letters of names that are not ASCII
		`\x`, "\x1b[", "&quot;", "&#", "%2", "%3", "%4", "%5", "%6", "%7", "%c", "%d", "%e"} {
		add(w, wordKind{kind: wordEscape})
	}
	for _, w := range []string{"identified ", "sshpass", "redis-cli", "mysql", "sqlcmd", "mongosh", "cqlsh", "zip -p", "sudo -s", "chpasswd", "htpasswd -", `"kty"`, `\"kty\"`, "ldapsearch", "ldapmodify", "curl ", "http -a ", "https -a ", " login ",
		"default login", "private-lines", "oracle:thin", "@tcp(", "@unix(", "basicauth(", "securestring", "code is", "code: ", "form-data", "true\t", `true\t`,
		"signature=", "--key ", "--key=", "_key=", "httponly\"", "samesite\"", "domain\"", `httponly\"`, `samesite\"`, `domain\"`} {
		add(w, wordKind{kind: wordContext})
	}
	if opt.Emails {
		add("@", wordKind{kind: wordAt})
	}
	return newAutomaton(words), kinds
}

// harmless reports whether a frame cannot have a secret.
func (r *Redactor) harmless(raw []byte) bool {
	return len(r.opt.Rules) == 0 && !r.suspicious(raw) && !r.known.has(raw) && !hasRun(raw)
}

// suspicious reports whether a word occurs that may belong to a secret. The prefix of a
// shape counts only with enough bytes after it. The bytes before it do not matter yet, as
// they may be part of an escape.
func (r *Redactor) suspicious(raw []byte) bool {
	a, s := r.words, int32(0)
	next, class := a.next, &a.class
	for i, c := range raw {
		if s = next[s>>1+int32(class[c])]; s&1 == 0 {
			continue
		}
		for _, w := range a.at(s) {
			k := &r.kinds[w]
			start := i + 1 - len(a.words[w])
			switch {
			case k.kind == wordShape && !k.shape.follows(raw[start:]):
			case k.kind == wordName && bytes.HasSuffix(raw[:start], []byte("progress")): // in every other request
			default:
				return true
			}
		}
	}
	return false
}

// maxKept is the maximum number of words in a text that are noted as kept.
const maxKept = 64

// textEdits finds the secrets of a text.
func (r *Redactor) textEdits(text []byte) []edit {
	if hits := r.textHits(text); len(hits) > 0 {
		return r.replaced(text, hits)
	}
	return nil
}

func (r *Redactor) textHits(text []byte) (hits []hit) {
	add := func(start, end int, rule string) {
		if start < end {
			hits = append(hits, hit{start: start, end: end, rule: rule})
		}
	}
	emailsTo, namesTo, keysTo, codedTo := 0, 0, 0, 0
	var around windows
	tables := r.newTableFinder(text)
	ends := runs{}
	r.words.each(text, func(w int32, start, end int) {
		switch k := &r.kinds[w]; k.kind {
		case wordShape:
			from, to := k.shape.match(text, start, ends)
			add(from, to, k.shape.rule)
		case wordContext:
			around.add(text, start, end)
		case wordName:
			around.add(text, start, end)
			if start >= namesTo { // a name inside a value is covered by it
				from, to, rule := r.assigned(text, start, start+k.size)
				add(from, to, rule)
				namesTo = max(namesTo, to)
			}
			hits = append(hits, tables.hits(start)...)
		case wordURL:
			from, to := urlSecret(text, start, end)
			add(from, to, "url-password")
		case wordKey:
			if start >= keysTo { // a word inside a key is covered by it
				from, to := keyBody(text, end)
				add(from, to, "private-key")
				keysTo = max(keysTo, to)
			}
		case wordScheme:
			from, to := schemeSecret(text, start, end)
			add(from, to, "authorization")
		case wordJWT:
			to := jwtEnd(text, start, ends)
			add(start, to, "jwt")
			if to == 0 && start >= codedTo && start > 0 && coded64[text[start-1]] && !alnum[text[start-1]] { // in a path, or after a sign
				codedTo = codedEnd(text, start)
				hits = append(hits, r.encodedAt(text, span{start, codedTo})...)
			}
		case wordUser:
			if bytes.Contains(text[:start], []byte("curl")) {
				from, to := userSecret(text, end)
				add(from, to, nameRule)
			}
		case wordAt:
			if start >= emailsTo {
				from, to := email(text, start)
				add(from, to, "email")
				emailsTo = max(emailsTo, to)
			}
		}
	})
	read := 0
	for _, in := range around {
		hits = append(hits, r.contextHits(text, in, &read)...)
	}
	again, kept := r.knownHits(text)
	hits = append(hits, again...)
	for i := range r.opt.Rules {
		if rule := &r.opt.Rules[i]; rule.pattern != nil {
			rule.matches(text, add)
		}
	}
	hits = append(append(hits, r.encoded(text)...), r.escaped(text)...)
	if inside, spans := r.embedded(text); len(spans) > 0 {
		hits = append(outside(hits, spans), inside...)
	}
	for _, k := range kept {
		if !slices.ContainsFunc(hits, func(h hit) bool { return h.start <= k.start && k.end <= h.end }) {
			r.stays(string(text[k.start:k.end]))
		}
	}
	return hits
}

// knownHits finds the known values of a text, and apart from them the first words that are kept.
func (r *Redactor) knownHits(text []byte) (hits, kept []hit) {
	r.known.each(text, func(start, end int, f *form) {
		switch h := (hit{start: start, end: end, rule: knownRule, number: f.number}); {
		case f.kept && (r.name || len(kept) == maxKept):
		case f.kept:
			kept = append(kept, h)
		case !f.word || !r.name || !isIdentifier(text):
			hits = append(hits, h)
		}
	})
	return hits, kept
}

// isIdentifier reports whether the name of a member is an identifier in lower case, and not a value.
func isIdentifier(name []byte) bool {
	for _, c := range name {
		if !alnum[c] && c != '_' {
			return false
		}
	}
	return name[0]-'a' < 26
}

// escaped finds the secrets of a text that are written with escapes.
func (r *Redactor) escaped(text []byte) (hits []hit) {
	if r.depth >= maxDepth {
		return nil
	}
	d, ok := loosely(text)
	if !ok {
		return nil
	}
	r.depth++
	defer func() { r.depth-- }()
	for _, h := range r.textHits(d.text) {
		if !h.done && h.value == nil {
			h.value = d.text[h.start:h.end]
		}
		h.start, h.end = d.spelled(h.start, h.end)
		if h.done && bytes.IndexByte(text[h.start:h.end], '%') >= 0 {
			h.text = url.QueryEscape(h.text)
		}
		hits = append(hits, h)
	}
	return hits
}

// userSecret returns the range of the password in user:password after a flag of curl, with
// or without quotes.
func userSecret(text []byte, at int) (from, to int) {
	stop := " \t\r\n"
	if at < len(text) && (text[at] == '"' || text[at] == '\'') {
		stop = string(text[at])
		at++
	}
	to = at + len(text[at:])
	if n := bytes.IndexAny(text[at:], stop); n >= 0 {
		to = at + n
	}
	colon := bytes.IndexByte(text[at:to], ':')
	if colon <= 0 || isFigures(text[at+colon+1:to]) || isStandIn(text[at+colon+1:to]) { // the number of a group, a variable
		return 0, 0
	}
	return at + colon + 1, to
}

// jwtSets are the bytes of the parts of a JSON Web Token, a set of its own for each, see runs.
// A signed token has three parts, an encrypted one five.
var jwtSets = func() (sets [5]*charset) {
	for i := range sets {
		own := *word
		sets[i] = &own
	}
	return sets
}()

// jwtEnd returns the end of the JSON Web Token at an offset, or 0. Offsets must ascend.
func jwtEnd(text []byte, at int, ends runs) int {
	if string(text[at:at+3]) != "eyJ" || at > 0 && alnum[text[at-1]] {
		return 0
	}
	const least = 10 // bytes in a part
	to := ends.end(jwtSets[0], text, at)
	if to-at < 15 || to == len(text) || text[to] != '.' {
		return 0
	}
	head := to
	var parts [4]int // the ends of the parts after the first
	n := 0
	for n < len(parts) && to < len(text) && text[to] == '.' {
		to = ends.end(jwtSets[n+1], text, to+1)
		parts[n] = to
		n++
	}
	switch {
	case n == 4 && parts[1]-parts[0] > least && parts[3]-parts[2] > least: // encrypted; the key, its second part, may be empty
		return parts[3]
	case parts[0]-head <= least:
		return 0
	}
	return parts[min(n, 2)-1]
}

// maxKeyHead is the maximum length of the first line of a private key.
const maxKeyHead = 120

// keyBody finds the text between the first and the last line of a private key. after is the
// offset after the word BEGIN. A key without an end extends to the end of the text.
func keyBody(text []byte, after int) (from, to int) {
	head := text[after:min(len(text), after+maxKeyHead)]
	i := bytes.Index(head, []byte("-----"))
	if i < 0 || !bytes.Contains(bytes.ReplaceAll(bytes.ToUpper(head[:i]), []byte("+"), []byte(" ")), []byte("PRIVATE KEY")) {
		return 0, 0
	}
	from = after + i + 5
	to = len(text)
	if j := bytes.Index(text[from:], []byte("-----END")); j >= 0 {
		to = from + j
	}
	from += lead(text[from:to])
	for to > from && (text[to-1] == '\n' || text[to-1] == '\r' || text[to-1] == ' ') {
		to--
	}
	if bytes.HasSuffix(text[from:to], []byte(`\n`)) {
		to -= 2
	}
	return from, to
}

// lead returns the length of the white space at the beginning of a text, escaped or not.
func lead(text []byte) int {
	n := len(text) - len(bytes.TrimLeft(text, " \r\n"))
	for bytes.HasPrefix(text[n:], []byte(`\n`)) || bytes.HasPrefix(text[n:], []byte(`\r`)) {
		n += 2
	}
	return n
}

var emailName = newCharset(asciiAlnum + "__--..++%%")

// email finds the address around an @.
func email(text []byte, at int) (from, to int) {
	from, to = at, at+1
	for from > 0 && at-from < 64 && emailName[text[from-1]] {
		from--
	}
	for to < len(text) && to-at < 256 && (alnum[text[to]] || text[to] == '-' || text[to] == '.') {
		to++
	}
	for to > at && (text[to-1] == '.' || text[to-1] == '-') {
		to--
	}
	domain := text[at+1 : max(at+1, to)]
	dot := bytes.LastIndexByte(domain, '.')
	if from == at || isPseudonym(text[from:at]) || dot < 1 || len(domain)-dot < 3 {
		return 0, 0
	}
	return from, to
}

// maxKeyLines is the maximum number of lines of a private key with one line per frame, as
// on stderr. RSA with 16 kbit has 200.
const maxKeyLines = 400

// opensKey reports whether a private key begins in a line and continues in the next.
func opensKey(line []byte) bool {
	i := bytes.LastIndex(line, []byte("-----BEGIN"))
	return i >= 0 && bytes.Contains(line[i:], []byte("PRIVATE KEY")) && !bytes.Contains(line[i:], []byte("-----END"))
}

// keyLine redacts a line that is part of a private key. A JSON-RPC message is not part of
// one, and ends it.
func (r *Redactor) keyLine(f *tap.Frame) []byte {
	line := bytes.TrimRight(f.Raw, "\r\n")
	if isJSON(line) {
		r.inKey[f.Lane] = 0
		return apply(f.Raw, r.edits(f.Raw))
	}
	r.inKey[f.Lane]--
	to := len(line)
	if i := bytes.Index(line, []byte("-----END")); i >= 0 {
		r.inKey[f.Lane], to = 0, i
	}
	return apply(f.Raw, r.replaced(f.Raw, []hit{{start: 0, end: to, rule: "private-key"}}))
}

// event redacts a server-sent event: its data, which may have several lines, as one
// content, and each other line separately.
func (r *Redactor) event(raw []byte) []byte {
	var data []byte
	var at []int // the offset of each byte of data in raw
	var edits []edit
	for i := 0; i < len(raw); {
		end := len(raw)
		if n := bytes.IndexAny(raw[i:], "\r\n"); n >= 0 {
			end = i + n
		}
		if value, ok := dataLine(raw[i:end]); ok {
			if data != nil {
				data, at = append(data, '\n'), append(at, end-len(value))
			} else {
				data = []byte{}
			}
			data = append(data, value...)
			for n := range value {
				at = append(at, end-len(value)+n)
			}
		} else if end > i {
			for _, e := range r.textEdits(raw[i:end]) {
				edits = append(edits, edit{i + e.start, i + e.end, e.text})
			}
		}
		i = end + 1
	}
	var inData []edit
	for _, e := range r.edits(data) {
		inData = append(inData, edit{at[e.start], at[e.end-1] + 1, e.text})
	}
	return apply(raw, inOrder(edits, inData))
}

func dataLine(line []byte) (value []byte, ok bool) {
	value, ok = bytes.CutPrefix(bytes.TrimPrefix(line, []byte("\ufeff")), []byte("data:"))
	return bytes.TrimPrefix(value, []byte(" ")), ok
}

// inOrder merges two sorted lists of edits. An edit inside another is dropped, such as a
// comment between the lines of a key.
func inOrder(a, b []edit) (all []edit) {
	for len(a) > 0 || len(b) > 0 {
		var e edit
		if len(b) == 0 || len(a) > 0 && a[0].start < b[0].start {
			e, a = a[0], a[1:]
		} else {
			e, b = b[0], b[1:]
		}
		if n := len(all); n > 0 && e.start < all[n-1].end {
			all[n-1].end = max(all[n-1].end, e.end)
			continue
		}
		all = append(all, e)
	}
	return all
}
