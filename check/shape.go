package check

import (
	"bytes"
	"encoding/json"
	"hash/maphash"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

var seed = maphash.MakeSeed()

// A shaper groups values that a schema does not distinguish: if one value conforms to the schema,
// so do all values of the same shape. Most messages of a session have one of a few shapes.
type shaper struct {
	words map[string]bool // the strings that are constants in the schema
	// texts and numbers report that the schema has other constraints on them, such as
	// pattern and minimum.
	texts, numbers bool
	valid          bounded.Map[shapeKey, struct{}] // shapes of values that conform to a definition
}

// A shapeKey identifies values that a definition in a schema does not distinguish.
type shapeKey struct {
	definition string
	shape      uint64
}

// validate returns how a value violates a definition. It calls compile unless a value of the same
// shape is known to be valid.
func (s *shaper) validate(definition string, value jsonrpc.Value, path string, compile func() (*jsonschema.Schema, error)) (found []schemaError, err error) {
	key := shapeKey{definition, s.shape(value)}
	if _, ok := s.valid.Get(key); ok {
		s.valid.Touch(key)
		return nil, nil
	}
	schema, err := compile()
	if err == nil {
		found, err = validate(schema, value, path)
	}
	if err == nil && len(found) == 0 {
		s.valid.Put(key, struct{}{})
	}
	return found, err
}

// distinguish collects what a schema or a part of it distinguishes.
func (s *shaper) distinguish(schema any) {
	eachPart(schema, func(part map[string]any) {
		for key, inner := range part {
			switch key {
			case "const":
				s.constant(inner)
			case "enum":
				list, _ := inner.([]any)
				for _, value := range list {
					s.constant(value)
				}
			case "pattern", "format", "minLength", "maxLength", "contentEncoding", "contentMediaType":
				s.texts = true
			case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
				s.numbers = true
			case "uniqueItems":
				s.texts, s.numbers = true, true
			}
		}
	})
}

// constant adds a constant. Values of other types are always distinguished.
func (s *shaper) constant(v any) {
	switch v := v.(type) {
	case string:
		if s.words == nil {
			s.words = map[string]bool{}
		}
		s.words[v] = true
	case json.Number:
		s.numbers = true
	case map[string]any, []any:
		s.texts, s.numbers = true, true
	}
}

// shape returns a hash of what the schema distinguishes in a value: names, types, constants,
// and whether numbers are integers, negative, or above 1.
func (s *shaper) shape(v jsonrpc.Value) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	s.addShape(&h, v, 0)
	return h.Sum64()
}

func (s *shaper) addShape(h *maphash.Hash, v jsonrpc.Value, depth int) {
	switch c := v.Class(); {
	case (c == '{' || c == '[') && depth < maxWalk:
		h.WriteByte(c)
		for name, inner := range v.Each {
			h.Write(name)
			h.WriteByte(0)
			s.addShape(h, inner, depth+1)
		}
		h.WriteByte('e')
	case c == '"' && !s.texts && bytes.IndexByte(v, '\\') < 0 && !s.words[string(v[1:len(v)-1])]:
		h.WriteByte('s')
	case c == '0' && !s.numbers && isInteger(v):
		h.WriteByte('i')
		h.WriteByte(v[0])
		h.WriteByte(byte(min(len(v), 3)))
	default:
		h.Write(v)
		h.WriteByte(0)
	}
}
