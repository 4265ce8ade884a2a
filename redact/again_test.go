package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcptap/mcptap/tap"
)

// corpora are the frames of all fixtures with secrets, each corpus as one recording, and
// planted ones: each secret in each place.
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
	places := sites()
	for i, one := range plants {
		for j := range 7 {
			s := places[(7*i+j)%len(places)]
			raw := strings.ReplaceAll(s.text, "‹›", s.spell(one.text))
			all["planted"] = append(all["planted"], tap.Frame{Seq: uint64(i + 1), Lane: s.lane, Form: s.form, Raw: []byte(raw)})
		}
	}
	return all
}

// A redacted copy passes its own check, and a second redaction changes nothing but
// numbers, whose pseudonyms are numbers.
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
					t.Errorf("%s: redacted again\n%s\nbecame\n%s", name, out[i].Raw, got)
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

// digitsGone is a text without the digits behind nines.
func digitsGone(s []byte) []byte {
	out := bytes.Clone(s)
	for i := 1; i < len(out); i++ {
		if out[i]-'0' < 10 && out[i-1] == '9' {
			out[i] = '9'
		}
	}
	return out
}
