package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// A Known is an accepted finding: see [Baseline].
type Known struct {
	Rule    string `json:"rule"`
	Subject string `json:"subject,omitempty"`
	Path    string `json:"path,omitempty"`
}

// A Baseline lists accepted findings. They are identified by rule, subject and path, because
// frame numbers differ between recordings.
type Baseline struct {
	Version  int     `json:"baseline_version"`
	Findings []Known `json:"findings"`
}

// baselineVersion is the version of the format of a [Baseline].
const baselineVersion = 1

// ReadBaseline reads a baseline.
func ReadBaseline(data []byte) (*Baseline, error) {
	var b Baseline
	if err := readFile(data, &b, "baseline", "--update-baseline", &b.Version, baselineVersion); err != nil {
		return nil, err
	}
	return &b, nil
}

// readFile reads and checks a file of a kind, with its version; maker is what creates it.
func readFile(data []byte, into any, kind, maker string, version *int, newest int) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("the file is empty: not a %s (%s creates one)", kind, maker)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not a %s (%s creates one): %w", kind, maker, err)
	}
	switch {
	case d.More():
		return fmt.Errorf("not a %s: data after the end", kind)
	case *version == 0:
		return fmt.Errorf("no %s_version: not a %s of mcptap", kind, kind)
	case *version > newest:
		return fmt.Errorf("%s_version %d is newer than this mcptap", kind, *version)
	}
	return nil
}

// Encode returns the baseline as JSON with one finding on each line, sorted.
func (b *Baseline) Encode() ([]byte, error) {
	out := fmt.Appendf(nil, "{\n  \"baseline_version\": %d,\n  \"findings\": [", baselineVersion)
	for i, k := range b.Findings {
		line, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, "\n    "...), line...)
	}
	return append(out, "\n  ]\n}\n"...), nil
}

// Accept returns a baseline of the findings of reports.
func Accept(reports ...*Report) *Baseline {
	b := &Baseline{Version: baselineVersion}
	for _, r := range reports {
		for _, f := range r.Findings {
			if k := f.known(); !slices.Contains(b.Findings, k) {
				b.Findings = append(b.Findings, k)
			}
		}
	}
	return b
}

func (f *Finding) known() Known { return Known{f.Rule.ID, f.Subject, f.Path} }

// Keep adds the entries of an older baseline for rules that are not in judged, by id.
func (b *Baseline) Keep(old *Baseline, judged map[string]bool) {
	for _, k := range old.Findings {
		if !judged[k.Rule] && !slices.Contains(b.Findings, k) {
			b.Findings = append(b.Findings, k)
		}
	}
}

// Has reports whether a finding is accepted.
func (b *Baseline) Has(f *Finding) bool { return slices.Contains(b.Findings, f.known()) }

// Apply removes the accepted findings from a report and returns their number. It adds them to
// seen, which collects the entries found in any report.
func (b *Baseline) Apply(r *Report, seen map[Known]bool) (accepted int) {
	known := map[Known]bool{}
	for _, k := range b.Findings {
		known[k] = true
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool {
		k := f.known()
		if known[k] {
			seen[k] = true
			accepted++
		}
		return known[k]
	})
	return accepted
}

// Resolved returns the entries of rules in judged, by id, that are not in seen.
func (b *Baseline) Resolved(seen map[Known]bool, judged map[string]bool) (gone []Known) {
	for _, k := range b.Findings {
		if !seen[k] && judged[k.Rule] {
			gone = append(gone, k)
		}
	}
	return gone
}
