package tap

// appendIDKey appends what two ids have in common when they are the same id,
// or nothing for an id that pairs with nothing (absent, null, no id at all).
//
// Ids are the same when they are equal as JSON values of one type: `"a"` and
// `"\u0061"` are, `1` and `"1"` are not. Numbers go by their exact decimal
// value, so `1`, `1.0` and `1e0` are the same: a JavaScript peer that reads
// `1.0` can only answer `1`. No float is involved: 9007199254740993 is not
// 9007199254740992. An id longer than [MaxWord] goes by its first bytes.
func appendIDKey(dst, id []byte) []byte {
	if len(id) == 0 {
		return dst
	}
	switch c := id[0]; {
	case len(id) > MaxWord:
		return append(append(dst, 'l'), id[:MaxWord]...)
	case c == '"' && !escaped(id):
		return append(append(dst, 's'), id[1:len(id)-1]...)
	case c == '"':
		return append(append(dst, 's'), unquote(id)...)
	case c == '-' || c-'0' < 10:
		return AppendNumber(append(dst, 'n'), id)
	}
	return dst
}
