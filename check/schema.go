package check

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// schemaFiles are the official schemas, as published, with their licenses.
//
//go:embed schema/20*/schema.json
var schemaFiles embed.FS

const (
	// maxValidated limits the size of messages that are validated.
	maxValidated = 4 << 20
	// maxErrors limits the errors reported for a message.
	maxErrors = 5
)

// A protocolSchema is the schema of a revision, with the definitions of its messages.
type protocolSchema struct {
	compiler *jsonschema.Compiler
	base     string
	// definitions are the names of definitions. requests maps methods to the definitions of
	// requests and notifications, and errors maps codes to those of error responses.
	definitions map[string]bool
	requests    map[string]string
	errors      map[string]string
	shaper
}

// maxShapes limits the remembered shapes of valid messages.
const maxShapes = 1024

// errata corrects known mistakes in the generated schemas, in the definitions with these names.
// The type declarations from which they are generated are correct.
var errata = map[string]func(definition map[string]any){
	// Numbers in a form may be fractions.
	"ElicitResult": func(d map[string]any) { eachPart(d, replaceInteger) },
	// JSON also has null and fractions.
	"JSONValue": func(d map[string]any) {
		eachPart(d, replaceInteger)
		d["anyOf"] = append(d["anyOf"].([]any), map[string]any{"type": "null"})
	},
}

// replaceInteger replaces the type integer with number in the type list of a schema part.
func replaceInteger(part map[string]any) {
	types, _ := part["type"].([]any)
	for i, t := range types {
		if t == "integer" {
			types[i] = "number"
		}
	}
}

// eachPart calls f for a schema and the objects in it.
func eachPart(v any, f func(part map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, inner := range v {
			eachPart(inner, f)
		}
	case []any:
		for _, inner := range v {
			eachPart(inner, f)
		}
	}
}

// loadSchema loads the schema of a revision.
func loadSchema(rev jsonrpc.Revision) (*protocolSchema, error) {
	data, err := schemaFiles.ReadFile("schema/" + string(rev) + "/schema.json")
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	root, _ := doc.(map[string]any)
	list := "$defs"
	if root[list] == nil {
		list = "definitions"
	}
	s := &protocolSchema{
		compiler: jsonschema.NewCompiler(), base: "https://modelcontextprotocol.io/schema/" + string(rev) + "/schema.json",
		definitions: map[string]bool{}, requests: map[string]string{}, errors: map[string]string{},
	}
	s.valid.Max = maxShapes
	eachPart(root, func(part map[string]any) {
		if _, ok := part["format"].(string); ok {
			delete(part, "format") // format is only an annotation
		}
	})
	s.distinguish(root)
	// The only limits of numbers are 0 and 1, which shapes distinguish.
	s.texts, s.numbers = false, false
	definitions, _ := root[list].(map[string]any)
	for name, d := range definitions {
		d, _ := d.(map[string]any)
		s.definitions[name] = true
		if mend := errata[name]; mend != nil && d != nil {
			mend(d)
		}
		properties, _ := d["properties"].(map[string]any)
		method, _ := properties["method"].(map[string]any)
		if m, ok := method["const"].(string); ok {
			s.requests[m] = name
		}
		if code := errorCode(properties["error"]); code != "" {
			s.errors[code] = name
		}
	}
	if err := s.compiler.AddResource(s.base, doc); err != nil {
		return nil, err
	}
	s.base += "#/" + list + "/"
	return s, nil
}

// errorCode returns the code that the schema of an error requires, "" if it allows any.
func errorCode(schema any) string {
	object, _ := schema.(map[string]any)
	parts, _ := object["allOf"].([]any)
	for _, part := range parts {
		part, _ := part.(map[string]any)
		properties, _ := part["properties"].(map[string]any)
		code, _ := properties["code"].(map[string]any)
		if n, ok := code["const"].(json.Number); ok {
			return n.String()
		}
	}
	return ""
}

// definitionOf returns the definition for a message, and the part of the message that it
// describes with its path; "" if the schema has none.
func (s *protocolSchema) definitionOf(m *Message) (definition string, part jsonrpc.Value, path string) {
	switch m.Kind {
	case jsonrpc.Request, jsonrpc.Notification:
		return s.requests[m.Method], m.Envelope, "$"
	case jsonrpc.ErrorResponse:
		for _, name := range []string{s.errors[m.ErrorCode], "JSONRPCErrorResponse", "JSONRPCError"} {
			if s.definitions[name] {
				return name, m.Envelope, "$"
			}
		}
	case jsonrpc.Response:
		if m.Request == nil {
			return "", nil, ""
		}
		return s.resultOf(m), m.Outcome(), "$.result"
	}
	return "", nil, ""
}

// resultOf returns the definition of the result of a known request.
func (s *protocolSchema) resultOf(m *Message) string {
	name, known := strings.CutSuffix(s.requests[m.Request.Method], "Request")
	switch {
	case !known:
		return ""
	case m.ResultType == "input_required" && s.definitions["InputRequiredResult"]:
		return "InputRequiredResult"
	case m.ResultType != "" && m.ResultType != "complete" && s.definitions["InputRequiredResult"]:
		return "Result" // defined by an extension
	case m.Request.Param("task") != nil && m.Member("task") != nil && s.definitions["CreateTaskResult"]:
		return "CreateTaskResult"
	case s.definitions[name+"Result"]:
		return name + "Result"
	}
	return "EmptyResult"
}

// A schemaError is a violation of a schema.
type schemaError struct{ path, text string }

// dotted changes the steps of a path for members that are not words to those that rules use.
var dotted = strings.NewReplacer(`["`, ".", `"]`, "")

// at reports whether the error is about the value at the path of another finding.
func (e schemaError) at(path string) bool {
	path, own := dotted.Replace(path), dotted.Replace(e.path)
	name, inside := strings.CutPrefix(path, own+".")
	return path == own || inside && strings.HasPrefix(e.text, "missing propert") && strings.Contains(e.text, "'"+name+"'")
}

// validate returns the first maxErrors schema errors of a value.
func validate(schema *jsonschema.Schema, value jsonrpc.Value, path string) (found []schemaError, err error) {
	defer func() {
		switch recover() {
		case nil:
		case errTooComplex:
			err = errTooComplex
		default: // the validator cannot represent numbers such as 1e9999999
			err = errFailed
		}
	}()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return nil, err
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(v); !errors.As(err, &invalid) {
		return nil, err
	}
	return errorsOf(invalid, v, path), nil
}

// errorsOf returns the first maxErrors errors of a value, ordered by place, because the validator
// reads objects in random order.
func errorsOf(invalid *jsonschema.ValidationError, v any, path string) (found []schemaError) {
	all := leaves(invalid)
	slices.SortStableFunc(all, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	for _, leaf := range all {
		place, value := instancePath(path, v, leaf.InstanceLocation)
		e := schemaError{place, errorWords(leaf, value)}
		if !slices.Contains(found, e) {
			found = append(found, e)
		}
		if len(found) == maxErrors {
			break
		}
	}
	return found
}

// errorWords describes what is wrong with a value, without its place.
func errorWords(e *jsonschema.ValidationError, value any) string {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) == 0 {
			return quoteShort(value) + " matches several mutually exclusive forms"
		}
		for _, c := range e.Causes {
			leaf := leaves(c)[0]
			_, names := leaf.ErrorKind.(*kind.Enum)
			if _, ok := value.(string); ok && names && len(leaf.InstanceLocation) == len(e.InstanceLocation) {
				return errorWords(leaf, value)
			}
		}
		return quoteShort(value) + " matches none of the allowed forms"
	case *kind.Pattern:
		return quoteShort(k.Got) + " does not match the pattern " + quoteShort(k.Want)
	case *kind.Enum:
		all := make([]string, len(k.Want))
		for i, v := range k.Want {
			all[i] = quoteShort(v)
		}
		return quoteShort(k.Got) + " is not one of " + strings.Join(all, ", ")
	case *kind.Format:
		name := k.Want
		if name == "regex" {
			name = "regular expression"
		}
		return fmt.Sprintf("%s is not a valid %s: %v", quoteShort(k.Got), name, k.Err)
	case *kind.RefCycle:
		return fmt.Sprintf("the $ref %q refers back to itself", strings.TrimPrefix(k.URL, schemaURL))
	}
	return e.ErrorKind.LocalizedString(english)
}

var english = message.NewPrinter(language.English)

// leaves returns the errors without causes. Of the branches of an anyOf or oneOf it follows only
// the one that the value most likely means: the one with the deepest errors.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		best := slices.MaxFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
			return cmp.Or(cmp.Compare(likeness(a), likeness(b)), cmp.Compare(len(b.Causes), len(a.Causes)))
		})
		if likeness(best) <= len(e.InstanceLocation) {
			return []*jsonschema.ValidationError{e} // it resembles no branch
		}
		return leaves(best)
	}
	var all []*jsonschema.ValidationError
	for _, c := range e.Causes {
		all = append(all, leaves(c)...)
	}
	return all
}

// likeness returns how deep the errors of a branch are. A wrong constant, such as the type of a
// content block, shows that another branch is meant.
func likeness(e *jsonschema.ValidationError) int {
	deepest := 0
	for _, leaf := range leaves(e) {
		switch leaf.ErrorKind.(type) {
		case *kind.Const, *kind.Enum:
			return 0
		}
		deepest = max(deepest, len(leaf.InstanceLocation))
		if _, ok := leaf.ErrorKind.(*kind.Required); ok {
			deepest = max(deepest, len(leaf.InstanceLocation)+1)
		}
	}
	return deepest
}

// instancePath returns the JSON path of a location in a value, with * for indexes, and the value
// there.
func instancePath(path string, v any, location []string) (string, any) {
	var b strings.Builder
	b.WriteString(path)
	for _, step := range location {
		switch inner := v.(type) {
		case []any:
			b.WriteString("[*]")
			if i, err := strconv.Atoi(step); err == nil && i < len(inner) {
				v = inner[i]
			}
		case map[string]any:
			b.WriteString(member(step))
			v = inner[step]
		}
	}
	return jsonrpc.Bound(b.String()), v
}

var isWord = regexp.MustCompile(`^\w+$`)

// member returns the JSON path step for a member.
func member(name string) string {
	if isWord.MatchString(name) {
		return "." + name
	}
	return fmt.Sprintf("[%q]", name)
}

// ruleSchema judges messages by the schema of their revision.
var ruleSchema = Rule{
	ID: "feat-25", Class: "observation", In: "A-E", Side: "both", Transport: "any",
	Text:   "A message conforms to the schema of its revision, if no other rule reports it. It is client-breaking if a whole list or result is lost.",
	Source: "schema; corrected where the generated schema rejects what its type declarations allow",
	Fix:    "Correct the member at the path; the schema file of the revision shows what is allowed.",
	New: func(s *Session) Hooks {
		return Hooks{On: []string{"message"}, Message: s.checker.bySchema}
	},
}

// losesResult reports whether SDKs refuse a whole list or content because of an error at path: the
// list itself, or an element, is missing or has the wrong type.
func losesResult(m *Message, path string) bool {
	switch {
	case m.Kind != jsonrpc.Response || m.Request == nil:
		return false
	case path == "$.result":
		return true
	}
	member, _ := strings.CutPrefix(strings.TrimSuffix(path, "[*]"), "$.result.")
	return slices.Contains([]string{
		"tools", "prompts", "resources", "resourceTemplates", "content", "contents", "messages", "messages[*].role", "messages[*].content", "completion",
		"completion.values",
	}, member)
}

// bySchema judges feat-25.
func (c *Checker) bySchema(m *Message, v *Verdict) {
	if m.Path != "$" || c.results.serious > c.before {
		return // embedded, or already reported
	}
	s, ok := c.schemas[m.Revision]
	if !ok {
		s, _ = loadSchema(m.Revision)
		c.schemas[m.Revision] = s
	}
	if s == nil {
		return
	}
	definition, part, path := s.definitionOf(m)
	switch {
	case definition == "":
		return // see rpc-24 and rpc-07
	case len(part) > maxValidated:
		v.Skip("messages of more than 4 MiB are not validated")
		return
	}
	found, err := s.validate(definition, part, path, func() (*jsonschema.Schema, error) { return s.compiler.Compile(s.base + definition) })
	switch {
	case err != nil:
		v.Skip("the message could not be validated: " + err.Error())
	case len(found) == 0:
		v.Hold()
	}
	reported := slices.Clone(c.results.places) // violate adds to it
	for _, e := range found {
		if losesResult(m, e.path) {
			v.violate(ClientBreaking, m.Subject(), e.path, e.text)
			continue
		}
		if !slices.ContainsFunc(reported, e.at) {
			v.Violate(m.Subject(), e.path, e.text)
		}
	}
}
