package view

import (
	"encoding/binary"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// digest feeds a decoded JSON value to a hash, so that equal values, however
// they are spelled, and no others, give the same.
func digest(h hash.Hash, v any) {
	text := func(class byte, s string) {
		h.Write(binary.BigEndian.AppendUint64([]byte{class}, uint64(len(s))))
		h.Write([]byte(s))
	}
	switch v := v.(type) {
	case map[string]any:
		h.Write(binary.BigEndian.AppendUint64([]byte{'{'}, uint64(len(v))))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text('k', name)
			digest(h, v[name])
		}
	case []any:
		h.Write(binary.BigEndian.AppendUint64([]byte{'['}, uint64(len(v))))
		for _, e := range v {
			digest(h, e)
		}
	case string:
		text('s', v)
	case json.Number:
		text('n', string(jsonrpc.AppendNumber(nil, []byte(v))))
	case bool:
		text('b', strconv.FormatBool(v))
	default:
		text('0', "")
	}
}
