package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
)

// corpora returns the frames of all fixtures with secrets, each corpus as one recording,
// and planted ones: each secret in each slot.
func corpora(t *testing.T) map[string][]tap.Frame {
	t.Helper()
	all := map[string][]tap.Frame{}
	all["corpus"], _ = frames(t, "corpus.txtar")
	all["open"], _ = frames(t, "open.txtar")
	for _, name := range []string{"secrets", "harmless"} {
		a, err := txtar.ParseFile("testdata/" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for i, file := range a.Files {
			f := inFrame(t, file.Name, file.Data)
			f.Seq, f.Raw = uint64(i+1), marks.ReplaceAll(f.Raw, []byte("$1"))
			all[name] = append(all[name], f)
		}
	}
	all["recorded"] = recorded(t)
	p := &planter{rand.New(rand.NewPCG(21, 22))}
	shapes, err := parseShapes(shapesText)
	if err != nil {
		t.Fatal(err)
	}
	plants := append(p.providerKeys(), p.others()...)
	for i := range shapes {
		key := p.sample(&shapes[i], 0)
		plants = append(plants, plant{shapes[i].prefix, key, key})
	}
	places := slots()
	for i, one := range plants {
		for j := range 7 {
			s := places[(7*i+j)%len(places)]
			raw := strings.ReplaceAll(s.text, "‹›", s.spell(one.text))
			all["planted"] = append(all["planted"], tap.Frame{Seq: uint64(i + 1), Lane: s.lane, Form: s.form, Raw: []byte(raw)})
		}
	}
	return all
}

// A check of a redacted copy finds nothing, and a second redaction changes only numbers,
// whose pseudonyms are numbers.
func TestACopyPassesItsOwnCheck(t *testing.T) {
	for name, list := range corpora(t) {
		for _, emails := range []bool{false, true} {
			opt := testOptions()
			opt.Emails = emails
			out := make([]tap.Frame, len(list))
			for i, raw := range twice(New(opt), list) {
				out[i] = list[i]
				out[i].Raw = raw
			}
			opt.Check = true
			check := New(opt)
			opt.Check = false
			again := New(opt)
			found := uint64(0)
			for i := range out {
				before := len(check.findings)
				check.Frame(&out[i])
				if len(check.findings) > before {
					t.Errorf("%s: a check finds %s in\n%s\nwhich was\n%s", name, places(check), out[i].Raw, list[i].Raw)
					found += uint64(len(check.findings))
					clear(check.findings)
				}
				if got := again.Frame(&out[i]); !bytes.Equal(digitsGone(got), digitsGone(out[i].Raw)) {
					t.Errorf("%s: redacted twice\n%s\nbecame\n%s", name, out[i].Raw, got)
				}
			}
			t.Logf("%s, emails %v: a check of %d redacted frames finds %d secrets", name, emails, len(out), found)
		}
	}
}

func places(r *Redactor) (s string) {
	for at := range r.findings {
		s += fmt.Sprintln(at.Rule, at.Where)
	}
	return s
}

// digitsGone returns a text without the digits after nines.
func digitsGone(s []byte) []byte {
	out := bytes.Clone(s)
	for i := 1; i < len(out); i++ {
		if out[i]-'0' < 10 && out[i-1] == '9' {
			out[i] = '9'
		}
	}
	return out
}

// Frames of all corpora that are cut, joined and mixed are redacted without a panic, and
// valid JSON stays valid.
func TestMutations(t *testing.T) {
	var pool [][]byte
	for _, list := range corpora(t) {
		for _, f := range list {
			if len(f.Raw) > 1 && len(f.Raw) < 5000 {
				pool = append(pool, f.Raw)
			}
		}
	}
	slices.SortFunc(pool, bytes.Compare) // the same in each run
	const signs = "\"\\'{}[]:=,;()&?<>|-*`$%\n\r\t /@.+"
	rnd := rand.New(rand.NewPCG(31, 32))
	r := New(Options{Key: []byte("k"), Emails: true})
	for range 20_000 {
		raw := bytes.Clone(pool[rnd.IntN(len(pool))])
		for range 1 + rnd.IntN(4) {
			at := rnd.IntN(len(raw))
			switch rnd.IntN(4) {
			case 0:
				raw = slices.Delete(raw, at, min(len(raw), at+1+rnd.IntN(8)))
			case 1:
				other := pool[rnd.IntN(len(pool))]
				from := rnd.IntN(len(other))
				raw = slices.Insert(raw, at, other[from:min(len(other), from+rnd.IntN(60))]...)
			case 2:
				raw[at] = signs[rnd.IntN(len(signs))]
			default:
				raw = raw[:at]
			}
			raw = append(raw, '\n') // so that it is never empty
		}
		if rnd.IntN(2) == 0 {
			spelled, err := json.Marshal(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			raw = []byte(answer(`{"type":"text","text":` + string(spelled) + `}`))
		}
		r.known, r.inKey = known{}, [tap.Lanes]int{}
		f := tap.Frame{Seq: 1, Lane: tap.Lane(rnd.IntN(int(tap.Lanes))), Form: tap.Form(rnd.IntN(int(tap.Forms))), Raw: raw}
		if out := r.Frame(&f); json.Valid(raw) && utf8.Valid(raw) && f.Form != tap.FormEvent && !json.Valid(out) {
			t.Fatalf("%q became %q", raw, out)
		}
	}
	// A list whose last element is empty.
	if got := redactedText(t, r, "apiTokens:\n  - abc12345\n  - "); !strings.Contains(got, prefix) {
		t.Error(got)
	}
}
