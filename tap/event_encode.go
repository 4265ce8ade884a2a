package tap

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Encode returns the event as one JSON object without a newline.
func (e Event) Encode() []byte { return e.AppendJSON(make([]byte, 0, 256)) }

// AppendJSON appends the event to b as one JSON object without a newline, the
// bytes that encoding/json makes of it. An HTTP tap encodes four events for each
// exchange, which by reflection was a third of what recording it cost.
func (e *Event) AppendJSON(b []byte) []byte {
	b = appendQuoted(append(b, `{"event":`...), e.Name)
	b = appendText(b, `,"transport":`, e.Transport)
	b = appendList(b, `,"command":[`, e.Command)
	b = appendText(b, `,"dir":`, e.Dir)
	if e.PID != 0 {
		b = strconv.AppendInt(append(b, `,"pid":`...), int64(e.PID), 10)
	}
	b = appendText(b, `,"lane":`, e.Lane)
	b = appendCount(b, `,"bytes":`, e.Bytes)
	b = appendCount(b, `,"from":`, e.From)
	b = appendCount(b, `,"to":`, e.To)
	b = appendText(b, `,"signal":`, e.Signal)
	if e.Code != nil {
		b = strconv.AppendInt(append(b, `,"code":`...), int64(*e.Code), 10)
	}
	b = appendText(b, `,"error":`, e.Error)
	return append(e.appendHTTP(b), '}')
}

// appendHTTP appends what only events of HTTP have.
func (e *Event) appendHTTP(b []byte) []byte {
	b = appendText(b, `,"listen":`, e.Listen)
	b = appendText(b, `,"upstream":`, e.Upstream)
	b = appendCount(b, `,"conn":`, e.Conn)
	b = appendText(b, `,"remote":`, e.Remote)
	b = appendText(b, `,"proto":`, e.Proto)
	b = appendText(b, `,"method":`, e.Method)
	b = appendText(b, `,"target":`, e.Target)
	if e.Status != 0 {
		b = strconv.AppendInt(append(b, `,"status":`...), int64(e.Status), 10)
	}
	b = appendText(b, `,"reason":`, e.Reason)
	b = appendFields(b, `,"header":[`, e.Header)
	b = appendList(b, `,"masked":[`, e.Masked)
	b = appendFields(b, `,"trailer":[`, e.Trailer)
	b = appendText(b, `,"by":`, e.By)
	if e.HalfClosed {
		b = append(b, `,"half_closed":true`...)
	}
	b = appendText(b, `,"coding":`, e.Coding)
	b = appendText(b, `,"what":`, e.What)
	b = appendText(b, `,"before":`, e.Before)
	b = appendText(b, `,"after":`, e.After)
	if e.FirstByte != 0 {
		b = strconv.AppendInt(append(b, `,"first_byte_ns":`...), int64(e.FirstByte), 10)
	}
	b = appendCount(b, `,"bytes_up":`, e.BytesUp)
	b = appendCount(b, `,"bytes_down":`, e.BytesDown)
	if e.KeepsSecrets {
		b = append(b, `,"keeps_secrets":true`...)
	}
	return b
}

func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendQuoted(append(b, key...), s)
}

func appendCount(b []byte, key string, n uint64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendUint(append(b, key...), n, 10)
}

// appendList appends a list of strings behind a key that ends in its bracket.
func appendList(b []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, key...)
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, s)
	}
	return append(b, ']')
}

// appendFields appends a list of names and values, as appendList does.
func appendFields(b []byte, key string, fields [][2]string) []byte {
	if len(fields) == 0 {
		return b
	}
	b = append(b, key...)
	for i := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(append(b, '['), fields[i][0])
		b = appendQuoted(append(b, ','), fields[i][1])
		b = append(b, ']')
	}
	return append(b, ']')
}

// appendQuoted appends a string as encoding/json does: what HTML would read is
// escaped too, and what is no UTF-8 becomes U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	b = append(slices.Grow(b, len(s)+2), '"')
	start := 0
	for i := 0; i < len(s); {
		if plainInJSON[s[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if size > 1 && r != '\u2028' && r != '\u2029' {
			i += size
			continue
		}
		b = appendEscape(append(b, s[start:i]...), r)
		i += size
		start = i
	}
	return append(append(b, s[start:]...), '"')
}

// plainInJSON has the bytes that stand for themselves in a string.
var plainInJSON = func() (plain [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()

// appendEscape appends a character that does not stand for itself.
func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}
