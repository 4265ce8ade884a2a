package tap_test

import (
	"reflect"
	"testing"

	"github.com/mcptap/mcptap/tap"
)

// fill sets every field of an event: strings to s, numbers to n.
func fill(e *tap.Event, s string, n int64) {
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString(s)
		case []string:
			f.Set(reflect.ValueOf([]string{s, "", s}))
		case [][2]string:
			f.Set(reflect.ValueOf([][2]string{{s, ""}, {"", s}}))
		case *int:
			code := int(int32(n))
			f.Set(reflect.ValueOf(&code))
		case bool:
			f.SetBool(n%2 == 0)
		case uint64:
			f.SetUint(uint64(n))
		default:
			f.SetInt(n)
		}
	}
}

// An encoded event is read back.
func TestEventParse(t *testing.T) {
	for _, s := range []string{"", "plain", "<\u2028\"\n>"} {
		var want tap.Event
		fill(&want, s, 7)
		got, err := tap.ParseEvent(want.Encode())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v became %+v, %v", want, got, err)
		}
	}
	if _, err := tap.ParseEvent([]byte(`{"event":1}`)); err == nil {
		t.Error("an event without a name was read")
	}
}
