package replay

import "github.com/mcptap/mcptap/tap/jsonrpc"

// appendWord appends what two scalars have in common when they are the same id,
// token or name: typed, strings decoded, numbers by value. Nothing is appended
// for what names nothing: null, or no scalar at all.
func appendWord(dst, raw []byte) []byte {
	switch c := classAt(raw, 0); {
	case c == '"':
		return append(append(dst, 's'), decode(raw)...)
	case c == '-' || c-'0' < 10:
		return jsonrpc.AppendNumber(append(dst, 'n'), raw)
	case c == 't' || c == 'f':
		return append(append(dst, 'w'), raw...)
	}
	return dst
}

// word is appendWord as a string.
func word(raw []byte) string { return string(appendWord(nil, raw)) }
