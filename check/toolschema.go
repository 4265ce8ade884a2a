package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// maxSteps limits how often parts of a server's schema are applied to parts of one value. A hostile
// schema can make this grow exponentially.
const maxSteps = 200_000

// maxSchemaDepth limits how deep arrays and objects in a server's schema may be nested. The time to
// compile a schema grows with the cube of its depth.
const maxSchemaDepth = 256

// errTooDeep reports that a schema is nested deeper than maxSchemaDepth.
var errTooDeep = errors.New("the schema is nested too deep")

// errTooComplex reports that maxSteps was reached.
var errTooComplex = errors.New("the schema is too complex")

// errFailed reports that the validator failed, as it does for numbers such as 1e9999999.
var errFailed = errors.New("the validator failed")

// A toolSchema is a schema that a server sent, or the reason that it could not be compiled.
type toolSchema struct {
	*jsonschema.Schema
	err    error
	faults []schemaError // why it is invalid, with paths that begin with a dot
	steps  *steps
	shaper
}

// steps counts down the steps of a validation. It is attached to each part of a schema.
type steps struct{ left int }

// Validate implements [jsonschema.SchemaExt].
func (s *steps) Validate(*jsonschema.ValidatorContext, any) {
	if s.left--; s.left < 0 {
		panic(errTooComplex)
	}
}

// schemaURL is the URL given to a schema that a server sent.
const schemaURL = "urn:mcptap:schema"

// compileOwn compiles a schema that a server sent. Its dialect is JSON Schema 2020-12 unless it
// names a different one.
func compileOwn(text jsonrpc.Value) (out *toolSchema) {
	out = &toolSchema{steps: &steps{}}
	defer func() {
		if recover() != nil {
			out.err = errFailed
		}
	}()
	if !jsonrpc.Valid(text, maxSchemaDepth) {
		out.err = errTooDeep
		return out
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		out.err = err
		return out
	}
	out.distinguish(doc)
	out.valid.Max = 64
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // never load a document
	c.UseRegexpEngine(compilePattern)
	c.AssertVocabs()
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "urn:mcptap:steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return out.steps, nil
		},
	})
	if out.err = c.AddResource(schemaURL, doc); out.err == nil {
		out.Schema, out.err = c.Compile(schemaURL)
	}
	if out.err != nil {
		out.faults = faultsOf(out.err, doc)
	}
	return out
}

// unjudged returns why a schema that could not be compiled is not judged, "" if it is invalid.
func (s *toolSchema) unjudged() string {
	var load *jsonschema.LoadURLError
	switch {
	case errors.Is(s.err, errFailed), errors.Is(s.err, errTooDeep):
		return s.err.Error()
	case errors.As(s.err, &load) && strings.Contains(load.URL, "json-schema.org"):
		return "the dialect of the schema is not known"
	case errors.As(s.err, &load):
		return "the schema refers to another document"
	}
	return ""
}

// faultsOf describes why a schema could not be compiled, one line per fault.
func faultsOf(err error, doc any) []schemaError {
	var invalid *jsonschema.SchemaValidationError
	var wrong *jsonschema.ValidationError
	var anchor *jsonschema.AnchorNotFoundError
	var pointer *jsonschema.JSONPointerNotFoundError
	ref := ""
	switch {
	case errors.As(err, &invalid) && errors.As(invalid.Err, &wrong):
		// A part that is a schema only because of a $ref is validated separately.
		_, pointer, _ := strings.Cut(invalid.URL, "#")
		names := strings.Split(pointer, "/")[1:]
		for i, name := range names {
			names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		}
		path, part := instancePath("", doc, names)
		return errorsOf(wrong, part, path)
	case errors.As(err, &anchor):
		ref = anchor.Reference
	case errors.As(err, &pointer):
		ref = pointer.URL
	default:
		return []schemaError{{"", strings.ReplaceAll(strings.ReplaceAll(err.Error(), schemaURL, ""), "\n", " ")}}
	}
	return []schemaError{{"", fmt.Sprintf("the $ref %q cannot be resolved", strings.TrimPrefix(ref, schemaURL))}}
}

// quoteShort returns a value as JSON. If it is long, the middle is left out, so that two of them
// fit into a finding.
func quoteShort(v any) string {
	const most, tail = 72, 24
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most-tail]), "") + "…" + strings.ToValidUTF8(string(text[len(text)-tail:]), "")
}

// compilePattern compiles an ECMA-262 regular expression. An expression with features that cannot
// be evaluated in linear time, such as a look-ahead, matches every text.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(pattern)
	var wrong *syntax.Error
	switch {
	case err == nil:
		return re, nil
	case errors.As(err, &wrong) && slices.Contains([]syntax.ErrorCode{
		syntax.ErrMissingParen, syntax.ErrMissingBracket, syntax.ErrTrailingBackslash, syntax.ErrUnexpectedParen, syntax.ErrMissingRepeatArgument,
	}, wrong.Code) && !strings.Contains(pattern, "(?") && !strings.Contains(pattern, "[^]"):
		return nil, errors.New(wrong.Code.String())
	}
	return regexp.MustCompile(""), nil
}

// own returns the compiled schema of a server, compiling it at most once.
func (c *Checker) own(text jsonrpc.Value) *toolSchema {
	key := maphash.Bytes(seed, text)
	if s, ok := c.compiled.Get(key); ok {
		c.compiled.Touch(key)
		return s
	}
	s := compileOwn(text)
	c.compiled.Put(key, s)
	return s
}

// rulesSchema are about the schemas of tools and forms, and the values that must conform to them.
var rulesSchema = []Rule{
	{
		ID: "feat-02", Class: "must@D-E observation@A-C", In: "A-E", Side: "server", Transport: "any",
		Text:   "An inputSchema is valid in its dialect, which is JSON Schema 2020-12 unless $schema names another.",
		Source: "D-E:server/tools#tool",
		Fix:    "Correct the schema at the reported place; a JSON Schema 2020-12 validator shows the same error.",
		New:    each(inputSchemaValid, "result tools/list"),
	},
	{
		ID: "type-07", Class: "client-breaking", In: "C-E", Side: "server", Transport: "any",
		Text:   "An outputSchema compiles: known type names, valid regular expressions, and every $ref can be resolved inside the schema.",
		Source: "D-E:server/tools#tool; observed: the TypeScript SDK then refuses every tool of the list",
		Fix:    "Correct the schema at the reported place, or leave it out.",
		New: each(func(m *Message, v *Verdict) {
			for _, tool := range m.Member("tools").Each {
				schema := tool.Get("outputSchema")
				if schema.IsObject() && (m.Revision >= jsonrpc.Rev20260728 || schema.Get("type").Decoded() == "object") { // else type-06
					judgeSchema(m, v, tool, "outputSchema", schema, func(string) bool { return false })
				}
			}
		}, "result tools/list"),
	},
	{
		ID: "feat-05", Class: "client-breaking", In: "C-E", Side: "server", Transport: "any",
		Text:   "If a tool has an outputSchema, its results without isError have a structuredContent that conforms to it.",
		Source: "C-E:server/tools#output-schema",
		Fix:    "Return structuredContent as the schema describes it, or correct the schema.",
		New: each(func(m *Message, v *Verdict) {
			result := m.Outcome()
			if m.IsError || result.Get("task") != nil || m.ResultType == "input_required" || m.ResultType == "task" {
				return
			}
			tool := m.currentTool(v)
			schema := tool.Get("outputSchema")
			if !schema.IsObject() {
				return
			}
			value := result.Get("structuredContent")
			if value == nil {
				v.Violate(m.Subject(), "$.result.structuredContent", "missing")
				return
			}
			if m.Revision < jsonrpc.Rev20260728 && !value.IsObject() {
				return // see feat-07
			}
			conforms(m, v, schema, value, "$.result.structuredContent")
		}, "result tools/call"),
	},
	{
		ID: "feat-08", Class: "observation", In: "A-E", Side: "client", Transport: "any",
		Text:   "The arguments of a tools/call conform to the inputSchema of the tool.",
		Source: "A-E:server/tools#calling-tools",
		Fix:    "Compare the arguments with the schema of the tool; the model may have seen another version of it.",
		New: each(func(m *Message, v *Verdict) {
			tool := m.currentTool(v)
			schema := tool.Get("inputSchema")
			if !schema.IsObject() {
				return
			}
			value := m.Param("arguments")
			if value == nil {
				value = jsonrpc.Value("{}")
			}
			if !value.IsObject() {
				return // see type-16
			}
			conforms(m, v, schema, value, "$.params.arguments")
		}, "request tools/call"),
	},
	{
		ID: "cli-10", Class: "should", In: "C-E", Side: "client", Transport: "any",
		Text:   "The content of an accepted form conforms to the requestedSchema.",
		Source: "C-E:client/elicitation",
		Fix:    "Validate the form before it is sent.",
		New: each(func(m *Message, v *Verdict) {
			content, schema := m.Member("content"), m.Request.Param("requestedSchema")
			if m.Member("action").Decoded() != "accept" || !content.IsObject() {
				return
			}
			if !schema.IsObject() {
				v.Skip("the requestedSchema is not known")
				return
			}
			path := "$.result.content"
			if m.Path != "$" {
				path = m.Path + ".content"
			}
			conforms(m, v, schema, content, path)
		}, "result elicitation/create"),
	},
}

// judgeSchema judges whether a schema of a tool compiles, except for faults that other rules report.
func judgeSchema(m *Message, v *Verdict, tool jsonrpc.Value, member string, schema jsonrpc.Value, others func(path string) bool) {
	if len(schema) > maxParams {
		v.Skip("schemas of more than 256 KiB are not compiled")
		return
	}
	compiled := m.Session.checker.own(schema)
	switch why := compiled.unjudged(); {
	case compiled.err == nil:
		v.Hold()
	case why != "":
		v.Skip(why)
	default:
		for _, fault := range compiled.faults {
			if !others(fault.path) {
				v.Violate(tool.Get("name").Decoded(), "$.result.tools[*]."+member+fault.path, fault.text)
			}
		}
	}
}

// inputSchemaValid judges feat-02. The types of type, properties and required are left to feat-01,
// type-04 and type-05.
func inputSchemaValid(m *Message, v *Verdict) {
	for _, tool := range m.Member("tools").Each {
		schema := tool.Get("inputSchema")
		if !schema.IsObject() {
			continue // see feat-01
		}
		judgeSchema(m, v, tool, "inputSchema", schema, func(path string) bool {
			switch path {
			case ".type", ".properties", ".required[*]":
				return true
			case ".required":
				return !schema.Get("required").IsArray()
			}
			return m.Revision < jsonrpc.Rev20260728 && isPropertyPath(path, schema)
		})
	}
}

// isPropertyPath reports whether path is the path of a property that is not an object.
func isPropertyPath(path string, schema jsonrpc.Value) bool {
	if properties := schema.Get("properties"); properties.IsObject() {
		for name, p := range properties.Each {
			if !p.IsObject() && path == jsonrpc.Bound(".properties"+member(string(name))) {
				return true
			}
		}
	}
	return false
}

// conforms judges whether a value conforms to a schema of a server.
func conforms(m *Message, v *Verdict, schema, value jsonrpc.Value, path string) {
	compiled := m.Session.checker.own(schema)
	if compiled.err != nil {
		v.Skip(cmp.Or(compiled.unjudged(), "the schema is invalid"))
		return
	}
	if len(value) > maxValidated {
		v.Skip("values of more than 4 MiB are not validated")
		return
	}
	compiled.steps.left = maxSteps
	found, err := compiled.validate("", value, path, func() (*jsonschema.Schema, error) { return compiled.Schema, nil })
	switch {
	case err == errTooComplex:
		v.Skip(err.Error())
	case err != nil:
		v.Skip("the value could not be validated: " + err.Error())
	case len(found) == 0:
		v.Hold()
	}
	for _, e := range found {
		v.Violate(m.Subject(), e.path, e.text)
	}
}

// tool returns the definition of the tool that a call names, nil if it is not known.
func (m *Message) tool() jsonrpc.Value { return m.Session.Listed["tools/list"][m.named()] }

// currentTool is like tool, but skips the verdict if the definition is unknown or outdated.
func (m *Message) currentTool(v *Verdict) jsonrpc.Value {
	tool := m.tool()
	switch {
	case m.Session.toolsChanged:
		v.Skip("the tools have changed since they were listed")
		return nil
	case tool == nil:
		v.Skip("no list before the call has the tool")
	}
	return tool
}
