package store

import (
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// A record is read back unchanged, in every form; one with an unknown form or an unknown
// flag is refused.
func TestRecordForms(t *testing.T) {
	var s segment
	s.reset(1, 0)
	for form := range tap.Forms + 1 {
		r := record{Frame: tap.Frame{Lane: tap.ToClient, At: 5, Took: 1, Exchange: 1 << 60, Form: form}, parts: partRef{partNumber(1<<35 - 1), 1 << 28, 1 << 48}}
		s.add(&r, []byte("x"))
	}
	d := table{table: s.table, body: s.body, seq: 1}
	for form := range tap.Forms {
		r, err := d.record()
		if err != nil || r.Form != form || r.Exchange != 1<<60 || r.Took != 1 || r.parts.First != partNumber(1<<35-1) || r.Size != 1<<48+1 {
			t.Errorf("%v: %+v, %v", form, r, err)
		}
	}
	if r, err := d.record(); err == nil {
		t.Errorf("%+v", r)
	}
	d = table{table: []byte{0x80, 0, 0}}
	if r, err := d.record(); err == nil {
		t.Errorf("%+v", r)
	}
}

// The numbers of parts do not collide with those of another frame or of format 1, and
// do not overflow.
func TestPartNumbers(t *testing.T) {
	if last := partNumber(1<<35-1) + 1<<partBits - 1; last != 1<<64-1 {
		t.Errorf("the last is %#x", last)
	}
	if partNumber(0) <= uint64(tap.Lanes)<<56 || partNumber(1)-partNumber(0) != 1<<partBits {
		t.Errorf("%#x, %#x", partNumber(0), partNumber(1))
	}
}
