package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcptap/mcptap/redact"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const sourceToolSecurity = "A-E:server/tools#security-considerations"

// rulesSecurity are heuristics that hint at security problems.
var rulesSecurity = []Rule{
	{
		ID: "sec-01", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A name, description, instruction or result holds invisible characters, characters that change the direction of text, or terminal escapes.",
		Source: sourceToolSecurity + "; Unicode UTS 39",
		Fix:    "Remove the characters; treat the server as suspect until they are explained.",
		New:    each(hiddenCharacters, "result"),
	},
	{
		ID: "sec-02", Class: "observation", In: "A-E", Side: "server", Transport: "any",
		Text:   "A description or server instruction tries to steer the model beyond its own tool: it hides things from the user, overrides instructions, or asks for files or secrets.",
		Source: sourceToolSecurity,
		Fix:    "Read the text in full before approving the server.",
		New: each(func(m *Message, v *Verdict) {
			if m.Request.Method != "tools/list" && m.Request.Method != "prompts/list" {
				found := injection.FindString(string(m.Member("instructions")))
				v.Check(found == "", "instructions", "$.result.instructions", "steers the model: "+found)
				return
			}
			member := lists[m.Request.Method].member
			for _, one := range m.Member(member).Each {
				found := injection.FindString(string(one[:min(len(one), maxParams)]))
				v.Check(found == "", one.Get("name").Decoded(), "$.result."+member+"[*]", "steers the model: "+found)
			}
		}, "result tools/list", "result prompts/list", "result initialize", "result server/discover"),
	},
	{
		ID: "sec-03", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "A message holds something that looks like a credential.",
		Source: "A-E:server/utilities/logging#security; " + sourceToolSecurity,
		Fix:    "Redact the recording, and pass secrets outside the conversation.",
		New: each(func(m *Message, v *Verdict) {
			if m.Method == "notifications/message" || m.Path != "$" {
				return // see flow-15
			}
			body, path := m.Params, "$.params"
			if m.Result != nil {
				body, path = m.Result, "$.result"
			} else if m.Error != nil {
				body, path = m.Error, "$.error"
			}
			if what, known := findCredential(body, v); known {
				v.Check(what == "", m.Subject(), path, "looks like a credential, "+what)
			}
		}, "message"),
	},
	{
		ID: "sec-05", Class: "observation", In: "B-E", Side: "server", Transport: "any",
		Text:   "The annotations of a tool contradict each other: readOnlyHint and an explicit destructiveHint are both true.",
		Source: "schema ToolAnnotations",
		Fix:    "Correct the hints.",
		New: each(func(m *Message, v *Verdict) {
			for _, tool := range m.Member("tools").Each {
				if hints := tool.Get("annotations"); hints.IsObject() {
					contradict := hints.Get("readOnlyHint").IsTrue() && hints.Get("destructiveHint").IsTrue()
					v.CheckValue(!contradict, tool.Get("name").Decoded(), "$.result.tools[*].annotations", "both hints are true", hints)
				}
			}
		}, "result tools/list"),
	},
	{
		ID: "sec-07", Class: "observation", In: "E", Side: "server", Transport: "any",
		Text:   "x-mcp-header marks a parameter that looks like a secret: headers are visible to intermediaries.",
		Source: "E:server/tools#x-mcp-header",
		Fix:    "Remove the annotation.",
		New: each(func(m *Message, v *Verdict) {
			for _, tool := range m.Member("tools").Each {
				for name, schema := range tool.Get("inputSchema", "properties").Each {
					if header := schema.Get("x-mcp-header").Decoded(); header != "" {
						secret := redact.SecretName(string(name)) || redact.SecretName(header)
						v.CheckValue(!secret, tool.Get("name").Decoded(), "$.result.tools[*].inputSchema.properties", "looks like a secret", name)
					}
				}
			}
		}, "result tools/list"),
	},
	{
		ID: "sec-08", Class: "observation", In: "A-E", Side: "both", Transport: "any",
		Text:   "A URI or an argument that is a path holds .. segments, and the request succeeds.",
		Source: "E:server/resources#security-considerations",
		Fix:    "Normalize paths, and check them against the allowed directories.",
		New: each(func(m *Message, v *Verdict) {
			params := m.Request.Params
			if uri := params.Get("uri").Decoded(); m.Request.Method == "resources/read" {
				if strings.HasPrefix(uri, "file:") {
					v.Check(!climbs(uri), m.Subject(), "$.params.uri", "has a .. segment: "+uri)
				}
				return
			}
			for name, value := range params.Get("arguments").Each {
				if text := value.Decoded(); !m.IsError && text != "" && isPathName(string(name)) {
					v.Check(!climbs(text), m.Subject(), "$.params.arguments."+jsonrpc.Bound(string(name)), "has a .. segment: "+text)
				}
			}
		}, "result resources/read", "result tools/call"),
	},
	{
		ID: "sec-10", Class: "observation", In: "D-E", Side: "both", Transport: "any",
		Text:   "The id of a task is easy to guess: shorter than 16 characters, or only digits.",
		Source: "D:basic/utilities/tasks#task-isolation-and-access-control; ext-tasks:specification/draft/tasks#security-considerations",
		Fix:    "Use random UUIDs.",
		New: each(func(m *Message, v *Verdict) {
			id, path := m.Outcome().Get("task", "taskId").Decoded(), "$.result.task.taskId"
			if m.ResultType == "task" {
				id, path = m.Member("taskId").Decoded(), "$.result.taskId"
			}
			if id != "" {
				v.Check(len(id) >= 16 && strings.Trim(id, "0123456789") != "", "taskId", path, "easy to guess: "+id)
			}
		}, "result"),
	},
}

// injection matches texts that try to steer the model against the user.
var injection = regexp.MustCompile(`(?i)(ignore|disregard|forget) (all |any |the |your )*(previous|prior|earlier|above) (instructions|prompts|rules|messages)|` +
	`(do not|don't|never|must not) (tell|mention|inform|show|reveal|notify|let)[\w ,/]{0,30} (the )?user|without (telling|informing|notifying) the user|` +
	`<(important|secret|system|hidden)>|[~/.](ssh/|aws/credentials)|\bid_(rsa|ed25519)\b|before (using|calling) (any )?other tools?`)

// isPathName reports whether an argument with a name is a path.
func isPathName(name string) bool {
	return slices.ContainsFunc(pathNames, func(end string) bool {
		return len(name) >= len(end) && strings.EqualFold(name[len(name)-len(end):], end)
	})
}

var pathNames = []string{"path", "file", "filename", "dir", "directory", "folder", "uri"}

// pathEscapes decodes the separators in a path.
var pathEscapes = strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", `\`, "/")

// climbs reports whether a path has a segment "..", which may be encoded.
func climbs(path string) bool {
	return slices.Contains(strings.Split(pathEscapes.Replace(path), "/"), "..")
}

// hiddenCharacters judges sec-01, per definition in lists.
func hiddenCharacters(m *Message, v *Verdict) {
	if m.Path != "$" {
		return
	}
	if l := lists[m.about()]; l.changed != "" {
		for _, one := range m.Member(l.member).Each {
			found := hidden(one)
			v.Check(found == "", one.Get("name").Decoded(), "$.result."+l.member+"[*]", "a hidden character: "+found)
		}
		return
	}
	found := hidden(m.Outcome())
	v.Check(found == "", m.Subject(), "$.result", "a hidden character: "+found)
}

// hidden returns the first hidden character of a JSON text, which may be escaped, or "".
func hidden(text jsonrpc.Value) string {
	before := rune(0)
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		switch {
		case r == '\\' && i+1 < len(text) && text[i+1] == 'u':
			r, n = jsonrpc.Unescape(text[i:])
		case r == '\\':
			n = 2
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(text[i:])
		}
		inEmoji := before == 0x1F3F4 && r >= 0xE0000 // some flags are a black flag with tags
		switch {
		case inEmoji:
			r = before
		case isHidden(r):
			return fmt.Sprintf("U+%04X", r)
		}
		before = r
		i += max(n, 1)
	}
	return ""
}

// isHidden reports whether a character is invisible. It excludes joiners and the marks that some
// scripts need.
func isHidden(r rune) bool {
	switch {
	case r == 0x1B, r == 0x200B, r == 0x2060, r == 0xFEFF:
		return true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}
