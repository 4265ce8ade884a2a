package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// Limits of a [Report].
const (
	// maxFindings limits the findings kept per class. Further violations are counted in
	// Report.More.
	maxFindings = 10_000
	// maxFrames limits the frames that a finding names, to the first ones.
	maxFrames = 5
	// maxText limits the bytes kept of an offending text.
	maxText = 200
	// maxPlaces limits the paths of the current frame that are kept.
	maxPlaces = 64
	// maxReasons limits the kept reasons for not judging a rule.
	maxReasons = 8
)

// A Finding is a violation of a rule. It stands for all violations with the same rule,
// subject and path.
type Finding struct {
	Rule  *Rule
	Class Class
	// Subject is what is wrong: a tool, a method, a header field; "" if the rule names it.
	Subject string
	// Path is the place in the message, such as $.result.tools[*].inputSchema; "" for none.
	Path string
	// Text is the offending text or a description of what is wrong with it, from the first
	// occurrence: at most 200 bytes, as recorded.
	Text string
	// Count is the number of occurrences, and Frames the numbers of the first five frames.
	Count  uint64
	Frames []uint64
	// Session is the session of the first occurrence, 0 for none, and Revision the revision in
	// force, "" if it is not known.
	Session  int
	Revision jsonrpc.Revision

	others []string // the first texts that differ from Text
	method string   // of the message, or of its request
}

// maxOthers limits the other texts that a finding keeps, and maxFault the length of a fault
// that includes some of them.
const (
	maxOthers = 4
	maxFault  = 160
)

// Fault returns what is wrong and where, in one line, with those of its texts that are short.
// It is printed before the requirement of the rule.
func (f *Finding) Fault() string {
	where := strings.TrimSpace(f.Subject + " " + f.Path)
	if where == "" || f.Text == "" {
		return where + f.Text
	}
	fault := where + ": " + f.Text
	for i, text := range f.others {
		if len(fault)+len(text) > maxFault || i == maxOthers-1 {
			return fault + "; …"
		}
		fault += "; " + text
	}
	return fault
}

// A Judgement counts the verdicts on one rule.
type Judgement struct {
	Rule *Rule
	// Held and Violated count verdicts, NotJudged the cases without one.
	Held, Violated, NotJudged uint64
	// Reasons explain why there was none: the first eight, with their counts.
	Reasons []Reason
}

// A Reason is why a rule could not be judged.
type Reason struct {
	Text  string `json:"text"`
	Count uint64 `json:"count"`
}

// A Report is the result of a check.
type Report struct {
	// Findings are ordered by class, worst first, then by rule and first frame.
	Findings []*Finding
	// Judgements lists the rules that applied at least once, ordered by id.
	Judgements []*Judgement
	// More counts violations that are not in Findings, and MoreWorst is their worst class.
	More      uint64
	MoreWorst Class
	// Messages counts the messages that were judged.
	Messages uint64
}

// Judged returns the number of verdicts.
func (r *Report) Judged() (n uint64) {
	for _, j := range r.Judgements {
		n += j.Held + j.Violated
	}
	return n
}

// Worst returns the class of the worst finding, 0 if there is none.
func (r *Report) Worst() Class {
	if len(r.Findings) == 0 {
		return r.MoreWorst
	}
	return max(r.Findings[0].Class, r.MoreWorst)
}

// findingKey identifies a finding.
type findingKey struct{ rule, subject, path string }

// results collects verdicts.
type results struct {
	Report     // its lists are set by report
	judgements map[*Rule]*Judgement
	findings   map[findingKey]*Finding
	serious    uint64                         // violations of Must or worse
	places     []string                       // the first paths of violations in the current frame
	ofClass    [ClientBreaking + 1]int        // findings
	each       func(rule *Rule, frame uint64) // may be nil
	found      func(f *Finding)               // may be nil
}

func (r *results) of(rule *Rule) *Judgement {
	j := r.judgements[rule]
	if j == nil {
		j = &Judgement{Rule: rule}
		r.judgements[rule] = j
	}
	return j
}

// report returns the ordered results.
func (r *results) report() *Report {
	r.Findings = slices.SortedFunc(maps.Values(r.findings), func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(b.Class, a.Class), cmp.Compare(a.Rule.ID, b.Rule.ID), cmp.Compare(a.Frames[0], b.Frames[0]),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Path, b.Path))
	})
	r.Judgements = slices.SortedFunc(maps.Values(r.judgements), func(a, b *Judgement) int { return cmp.Compare(a.Rule.ID, b.Rule.ID) })
	r.Judgements = slices.DeleteFunc(r.Judgements, func(j *Judgement) bool { return j.Held+j.Violated+j.NotJudged == 0 })
	return &r.Report
}

// A Verdict records the judgement of one rule on one message, frame, exchange, call or session.
// Its methods may be called several times, for several parts of a message.
type Verdict struct {
	*Judgement
	results  *results
	session  int
	frame    uint64
	revision jsonrpc.Revision
	method   string // see Finding.method
}

// Hold reports that the rule holds.
func (v *Verdict) Hold() {
	if v.known() {
		v.Held++
	}
}

// known reports whether the rule is judged in the revision, which may not be known for frames
// and exchanges.
func (v *Verdict) known() bool {
	if v.judged() {
		return true
	}
	if v.revision == "" {
		v.Skip("the revision is not known")
	}
	return false
}

// judged reports whether the rule is judged in the revision.
func (v *Verdict) judged() bool { return v.class() != 0 }

// class returns the class of the rule in the revision.
func (v *Verdict) class() Class { return v.Rule.ClassIn(v.revision) }

// Skip reports that the rule cannot be judged, and why, as in "the recording starts later".
func (v *Verdict) Skip(why string) {
	v.NotJudged++
	if i := slices.IndexFunc(v.Reasons, func(r Reason) bool { return r.Text == why }); i >= 0 {
		v.Reasons[i].Count++
	} else if len(v.Reasons) < maxReasons {
		v.Reasons = append(v.Reasons, Reason{why, 1})
	}
}

// Violate reports a violation: see [Finding] for its parts.
func (v *Verdict) Violate(subject, path, text string) {
	v.violate(v.class(), subject, path, text)
}

// Observe reports a violation in a case where the class of the rule is [Observation].
func (v *Verdict) Observe(subject, path, text string) { v.violate(Observation, subject, path, text) }

func (v *Verdict) violate(class Class, subject, path, text string) {
	if !v.known() {
		return
	}
	v.Violated++
	if class >= Must {
		v.results.serious++
	}
	if len(v.results.places) < maxPlaces {
		v.results.places = append(v.results.places, path)
	}
	if v.results.each != nil {
		v.results.each(v.Rule, v.frame)
	}
	key := findingKey{v.Rule.ID, strings.Clone(jsonrpc.Bound(subject)), path}
	f := v.results.findings[key]
	if f == nil {
		if v.results.ofClass[class] >= maxFindings {
			v.results.More++
			v.results.MoreWorst = max(v.results.MoreWorst, class)
			return
		}
		v.results.ofClass[class]++
		f = &Finding{
			Rule: v.Rule, Subject: key.subject, Path: path, Text: cut(text), Session: v.session, Revision: v.revision, method: strings.Clone(v.method),
		}
		v.results.findings[key] = f
	}
	f.Class = max(f.Class, class)
	f.Count++
	if text = cut(text); len(f.others) < maxOthers && text != f.Text && !slices.Contains(f.others, text) {
		f.others = append(f.others, text)
	}
	if n := len(f.Frames); n < maxFrames && (n == 0 || f.Frames[n-1] != v.frame) {
		f.Frames = append(f.Frames, v.frame)
	}
	if f.Count == 1 && v.results.found != nil {
		v.results.found(f)
	}
}

// Check reports that the rule holds if ok is set, and a violation otherwise.
func (v *Verdict) Check(ok bool, subject, path, text string) {
	if ok {
		v.Hold()
		return
	}
	v.Violate(subject, path, text)
}

// CheckValue is like Check. Its text consists of words, which may be "", and a value.
func (v *Verdict) CheckValue(ok bool, subject, path, words string, value []byte) {
	if ok {
		v.Hold()
		return
	}
	if words != "" {
		words += ": "
	}
	v.Violate(subject, path, words+string(value[:min(len(value), maxText+1)]))
}

// cut returns a prefix of a text, at most maxText bytes and whole characters.
func cut(s string) string {
	if len(s) <= maxText {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:maxText-len("…")], "") + "…"
}

// change shows two texts from where they start to differ.
func change(old, now string) string {
	const before, shown = 30, 70
	from := 0
	for from < min(len(old), len(now)) && old[from] == now[from] {
		from++
	}
	if from = max(from-before, 0); from < 8 {
		from = 0
	}
	around := func(s string) string {
		text := s[from:min(from+shown, len(s))]
		if from > 0 {
			text = "…" + text
		}
		if from+shown < len(s) {
			text += "…"
		}
		return strings.ToValidUTF8(text, "")
	}
	switch {
	case old == "":
		return "added: " + around(now)
	case now == "":
		return "removed: " + around(old)
	}
	return around(old) + " → " + around(now)
}
