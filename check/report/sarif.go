package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/mcptap/mcptap/check"
	"github.com/mcptap/mcptap/internal/term/escape"
)

// maxSARIF limits the results: code scanning services show no more.
const maxSARIF = 5000

type object = map[string]any

// SARIF writes a log in the Static Analysis Results Interchange Format 2.1.0. The worst
// findings come first; those beyond [maxSARIF] are counted in a notification.
func SARIF(w io.Writer, all []Recording, failOn check.Class) error {
	type place struct {
		*check.Finding
		in *Recording
	}
	var findings []place
	for i := range all {
		for _, f := range all[i].Findings {
			findings = append(findings, place{f, &all[i]})
		}
	}
	slices.SortStableFunc(findings, func(a, b place) int { return int(b.Class) - int(a.Class) })
	notes := []object{}
	if n := len(findings) - maxSARIF; n > 0 {
		findings = findings[:maxSARIF]
		notes = append(notes, object{"level": "warning", "message": object{"text": fmt.Sprintf("%d more findings are left out", n)}})
	}
	failed, read := false, true
	for _, r := range all {
		if r.Error != "" {
			read = false
			notes = append(notes, object{"level": "error", "message": object{"text": escape.String(r.Error)}})
		}
		if r.Accepted > 0 {
			notes = append(notes, object{"level": "note", "message": object{"text": escape.String(r.Name) + ": " + r.accepted()}})
		}
		for _, g := range r.Gates {
			if g.Failed() {
				failed = true
				notes = append(notes, object{"level": "error", "message": object{"text": g.Text()}})
			}
		}
	}
	rules, index, results := []object{}, map[string]int{}, []object{}
	for _, f := range findings {
		at, ok := index[f.Rule.ID]
		if !ok {
			at = len(rules)
			index[f.Rule.ID] = at
			rules = append(rules, object{
				"id": f.Rule.ID, "shortDescription": object{"text": f.Rule.Text}, "help": object{"text": f.Rule.Fix},
				"properties": object{"class": f.Rule.ClassText(), "source": f.Rule.SourceText()},
			})
		}
		failed = failed || fails(f.Finding, failOn)
		results = append(results, object{
			"ruleId": f.Rule.ID, "ruleIndex": at, "level": level(f.Class), "message": object{"text": frames(f.Finding) + " " + words(f.Finding)},
			"locations": []object{f.in.location(f.Finding)}, "occurrenceCount": max(f.Count, 1),
			"partialFingerprints": object{"mcptap/v1": f.Rule.ID + " " + f.Subject + " " + f.Path},
			"properties":          object{"frames": f.Frames, "class": f.Class.String()},
		})
	}
	exit := 0
	switch {
	case !read:
		exit = 2
	case failed:
		exit = 1
	}
	line, err := escape.JSON(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool": object{"driver": object{"name": "mcptap", "informationUri": "https://github.com/mcptap/mcptap", "rules": rules}},
			"invocations": []object{{
				"executionSuccessful": read, "exitCode": exit, "toolExecutionNotifications": notes,
			}},
			"results": results,
		}},
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, append(line, '\n'), "", "  "); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// level returns the level of SARIF for a class.
func level(c check.Class) string {
	switch {
	case c >= check.Must:
		return "error"
	case c == check.Should:
		return "warning"
	}
	return "note"
}

// location returns where a finding is: a line of the checked text, or else the frame of a
// recording.
func (r *Recording) location(f *check.Finding) object {
	frame := uint64(0)
	if len(f.Frames) > 0 {
		frame = f.Frames[0]
	}
	at := object{"logicalLocations": []object{{"fullyQualifiedName": fmt.Sprintf("%s#%d", r.Name, frame), "kind": "member"}}}
	if r.File != "" {
		physical := object{"artifactLocation": object{"uri": uriOf(r.File)}}
		if r.Lines != nil {
			physical["region"] = object{"startLine": r.line(f)}
		}
		at["physicalLocation"] = physical
	}
	return at
}

// uriOf returns the URI of a path with slashes: a relative one, or a file URI.
func uriOf(file string) string {
	if len(file) > 1 && file[1] == ':' { // a drive
		file = "/" + file
	}
	u := url.URL{Path: file}
	if file[0] == '/' {
		u.Scheme = "file"
	}
	return u.String()
}
