package store

import (
	"encoding/binary"
	"hash/crc32"
)

// How long a segment may be that is repaired. The longer it is, the more likely
// is a change of one byte that fits damage of another kind by chance: once in 260
// times at the first length, where what comes out must then decompress as well,
// and once in 4000 at the other, where nothing else tells.
const (
	maxRepair      = 64 << 10
	maxRepairPlain = 4 << 10
)

// A repair is the one byte of a segment that was changed, and by what.
type repair struct {
	at  int
	xor byte
}

func (r repair) apply(b []byte) { b[r.at] ^= r.xor }

// findRepair looks for the one byte of a segment that can be changed so that its
// checksum fits and what it holds makes sense. A checksum is linear: that of the
// difference of two strings is the difference of theirs. So it goes backwards
// over the bytes and asks of each whether a change of it would make the
// difference that there is.
func findRepair(b []byte) (repair, bool) {
	if len(b) < segmentHeader || len(b) > maxRepair {
		return repair{}, false
	}
	diff := crc32.Checksum(b[12:], castagnoli) ^ binary.LittleEndian.Uint32(b[8:])
	if diff == 0 {
		return repair{}, false
	}
	var found []repair
	for i := range 4 { // the checksum itself
		if x := byte(diff >> (8 * i)); diff == uint32(x)<<(8*i) {
			found = append(found, repair{8 + i, x})
		}
	}
	for at := len(b) - 1; at >= 12; at-- {
		i := crcTops[diff>>24]
		if diff == castagnoli[i] {
			found = append(found, repair{at, i})
		}
		diff = (diff^castagnoli[i])<<8 | uint32(i) // as it was a byte of zero before
	}
	var good []repair
	for _, r := range found {
		r.apply(b)
		if plausible(b) {
			good = append(good, r)
		}
		r.apply(b)
	}
	if len(good) != 1 {
		return repair{}, false
	}
	return good[0], true
}

// crcTops finds the entry of the checksum's table by its top byte.
var crcTops = func() (tops [256]byte) {
	for i, v := range castagnoli {
		tops[v>>24] = byte(i)
	}
	return tops
}()

// plausible reports whether a segment whose length is not in doubt holds what it
// says.
func plausible(b []byte) bool {
	h, data, err := decodeSegment(b)
	if err != nil || h.payload != len(b)-segmentHeader || h.compression == compressNone && len(b) > maxRepairPlain {
		return false
	}
	if h.kind == kindPart {
		return h.count == 0 && h.table == 0
	}
	t, err := newTable(h, data, h.first)
	for err == nil && t.left > 0 {
		_, err = t.record()
	}
	return err == nil
}
