package jsonrpc

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"
)

// A schemaUse is how one revision's schema uses a method.
type schemaUse struct {
	client, server bool
	kind           Kind
}

// readSchema lists the methods of a schema: which side may send each, by the unions
// ClientRequest and so on, and every other method constant.
func readSchema(t *testing.T, r Revision) map[string]*schemaUse {
	t.Helper()
	b, err := os.ReadFile("../../check/schema/" + string(r) + "/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	var defs map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"definitions", "$defs"} {
		if doc[key] != nil {
			if err := json.Unmarshal(doc[key], &defs); err != nil {
				t.Fatal(err)
			}
		}
	}
	uses := map[string]*schemaUse{}
	for name, def := range defs {
		for _, method := range methodConstants(def) {
			if uses[method] == nil {
				uses[method] = &schemaUse{}
			}
			if strings.HasSuffix(name, "Notification") {
				uses[method].kind = Notification
			} else {
				uses[method].kind = Request
			}
		}
	}
	for _, union := range []string{"ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification"} {
		for _, method := range unionMethods(defs, union) {
			uses[method].client = uses[method].client || strings.HasPrefix(union, "Client")
			uses[method].server = uses[method].server || strings.HasPrefix(union, "Server")
		}
	}
	return uses
}

// methodConstants finds properties.method.const in a definition and its allOf.
func methodConstants(def any) (all []string) {
	d, _ := def.(map[string]any)
	properties, _ := d["properties"].(map[string]any)
	method, _ := properties["method"].(map[string]any)
	if c, ok := method["const"].(string); ok {
		all = append(all, c)
	}
	parts, _ := d["allOf"].([]any)
	for _, p := range parts {
		all = append(all, methodConstants(p)...)
	}
	return all
}

// unionMethods lists the methods of the definitions that a union refers to, or of the
// union itself if it has only one.
func unionMethods(defs map[string]any, union string) []string {
	all := methodConstants(defs[union])
	d, _ := defs[union].(map[string]any)
	parts, _ := d["anyOf"].([]any)
	for _, p := range parts {
		ref, _ := p.(map[string]any)["$ref"].(string)
		all = append(all, methodConstants(defs[ref[strings.LastIndexByte(ref, '/')+1:]])...)
	}
	return all
}

func TestMethodsAgainstSchemas(t *testing.T) {
	for _, r := range Revisions {
		if r == Dialect {
			continue // it has no schema
		}
		uses := readSchema(t, r)
		if len(uses) < 6 {
			t.Fatalf("%s: only %d methods in the schema", r, len(uses))
		}
		for name, use := range uses {
			m, ok := LookupMethod(name)
			if !ok || !m.In(r) {
				t.Errorf("%s: %s is in the schema but not in the table", r, name)
				continue
			}
			if m.Kind != use.kind {
				t.Errorf("%s: %s is a %s in the schema, a %s in the table", r, name, use.kind, m.Kind)
			}
			if r == ExtTasks {
				continue // it has no unions: see TestTasksExtension
			}
			if m.Client.Has(r) != use.client || m.Server.Has(r) != use.server {
				t.Errorf("%s: %s: table has client %v server %v, schema %v %v", r, name,
					m.Client.Has(r), m.Server.Has(r), use.client, use.server)
			}
			// A method that neither side may send is in the schema only to be embedded.
			if m.Embedded.Has(r) != (!use.client && !use.server) {
				t.Errorf("%s: %s: embedded is %v", r, name, m.Embedded.Has(r))
			}
		}
		for _, m := range Methods() {
			if m.In(r) && uses[m.Name] == nil {
				t.Errorf("%s: %s is in the table but not in the schema", r, m.Name)
			}
		}
	}
}

// TestTasksExtension checks the directions that the extension gives in prose.
func TestTasksExtension(t *testing.T) {
	want := "tasks/get C, tasks/cancel C, tasks/update C, notifications/tasks S, " +
		"sampling/createMessage E, roots/list E, elicitation/create E"
	checkDirections(t, ExtTasks, want)
}

// TestDialectMethods checks the methods of reference document 002.
func TestDialectMethods(t *testing.T) {
	checkDirections(t, Dialect, "initialize C, initialized C, tools/list C, resources/list C, tools/invoke C, "+
		"tools/changed S, resources/changed S, cancel C, progress S, shutdown C, exit C")
	seen := 0
	_, messages := readReference(t, "testdata/reference/002.txt")
	for _, r := range messages {
		m := Peek(r.raw)
		if m.Method == "" {
			continue
		}
		seen++
		known, ok := LookupMethod(m.Method)
		if !ok || known.Kind != m.Kind || known.Client.Has(Dialect) != (r.mark == '>') || known.Server.Has(Dialect) != (r.mark == '<') {
			t.Errorf("%s: table has %+v", r.raw, known)
		}
	}
	if seen != 11 {
		t.Errorf("saw %d methods", seen)
	}
}

func checkDirections(t *testing.T, r Revision, want string) {
	t.Helper()
	var got []string
	for _, m := range Methods() {
		for _, d := range []struct {
			set    RevisionSet
			letter string
		}{{m.Client, "C"}, {m.Server, "S"}, {m.Embedded, "E"}} {
			if d.set.Has(r) {
				got = append(got, m.Name+" "+d.letter)
			}
		}
	}
	wanted := strings.Split(want, ", ")
	sort.Strings(got)
	sort.Strings(wanted)
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("got  %v\nwant %v", got, wanted)
	}
}

// TestEveryMethodPeeks reads a message with each method of the table, and checks its
// subject by the member that the table names.
func TestEveryMethodPeeks(t *testing.T) {
	for _, k := range Methods() {
		id := `"id":0,`
		if k.Kind == Notification {
			id = ""
		}
		param := k.Param
		if param == "" {
			param = "_"
		}
		for _, raw := range []string{
			fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":{%q:"the subject"}}`, id, k.Name, param),
			fmt.Sprintf(`{"params":{%q:"the subject"},%s"method":%q,"jsonrpc":"2.0"}`, param, id, k.Name),
		} {
			m := Peek([]byte(raw))
			if m.Kind != k.Kind || m.Method != k.Name || m.Reason != "" {
				t.Errorf("%s: %+v", raw, m)
			}
			if k.Param != "" && Subject(m) != "the subject" {
				t.Errorf("%s: subject %q", raw, Subject(m))
			}
		}
	}
}

func TestMethodsUnique(t *testing.T) {
	if len(methodIndex) != len(methods) {
		t.Errorf("%d names for %d entries", len(methodIndex), len(methods))
	}
	for _, m := range methods {
		if m.Param != "" && m.about != nil || m.Client|m.Server == 0 {
			t.Errorf("%+v", m)
		}
	}
}

func TestEraOf(t *testing.T) {
	for r, want := range map[Revision]Era{
		"": "", Rev20241105: Legacy, "2024-10-07": Legacy, Rev20250326: Legacy, Rev20250618: Legacy, Rev20251125: Legacy,
		Rev20260728: Modern, "2027-01-01": Modern, "DRAFT-2026-v1": Modern, "1.0.0": Legacy, Dialect: Legacy, ExtTasks: Modern,
	} {
		if got := EraOf(r); got != want {
			t.Errorf("EraOf(%q) = %q, want %q", r, got, want)
		}
	}
}
