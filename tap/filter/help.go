package filter

import "strings"

// A HelpSection is a section of the help on the language.
type HelpSection struct {
	Title string
	Lines []HelpLine
}

// A HelpLine explains one form in one line.
type HelpLine struct {
	Form     string   // a term, or a key with its colon
	Means    string   // its meaning
	Examples []string // queries
}

// Help returns the help on the language: its terms, its keys, and the words of
// keys. The command line, the viewer and the documentation show it.
func Help() []HelpSection {
	sections := []HelpSection{{"Terms", termHelp}}
	all := HelpSection{Title: "Keys"}
	for _, k := range keys {
		all.Lines = append(all.Lines, HelpLine{k.name + ":", k.help, k.examples})
	}
	sections = append(sections, all)
	for _, k := range keys {
		if k.words == nil {
			continue
		}
		s := HelpSection{Title: "Words of " + k.name + ":"}
		for _, w := range k.words {
			means := w.help
			if len(w.also) > 0 {
				means += "; also " + strings.Join(w.also, ", ")
			}
			s.Lines = append(s.Lines, HelpLine{w.name, means, []string{k.name + ":" + w.name}})
		}
		sections = append(sections, s)
	}
	return sections
}

var termHelp = []HelpLine{
	{"text", "the payload has it, in any case, escaped or as a person reads it", []string{"timeout", "naïve"}},
	{`"text"`, `exactly that, spaces and commas too; \" is a quote in it, \\ a backslash`, []string{`"not found"`, `"say \"hi\""`}},
	{"te*xt", "a star stands for anything", []string{"city*name"}},
	{"/regexp/", "the payload matches it (RE2); case counts, unless it begins with (?i)", []string{`/id=\d+/`, "/(?i)not found/"}},
	{"key:value", "what the frame is or has, see the keys", []string{"method:tools/call", `tool:"my tool"`}},
	{"a b", "both", []string{"kind:request dir:to_client", "kind:request AND dir:to_client"}},
	{"a,b", "one of them", []string{"method:tools/call,prompts/get", "timeout,refused"}},
	{"-a", "not that", []string{"-method:ping", "-(is:error timeout)", "NOT method:ping"}},
	{"a OR b", "one of them, whatever they are; ( and ) group", []string{"is:error OR latency:>1s", "(is:slow OR is:pending) tool:forecast"}},
}
