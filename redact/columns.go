package redact

import (
	"bytes"
	"encoding/json"
)

// columns are the names of the columns of a table, as in
// {"columns": ["user", "password"], "rows": [["me", "…"]]}.
type columns struct{ names []string }

// columnLists and rowLists are the plain names of what lists the columns and the rows.
var (
	columnLists = map[string]bool{"columns": true, "fields": true, "header": true, "headers": true, "columnnames": true, "schema": true}
	rowLists    = map[string]bool{"rows": true, "data": true, "values": true, "records": true, "results": true, "items": true}
)

// columnsAhead reads the array that is next, and stays before it. It is nil if no column
// has the name of a secret.
func (w *walker) columnsAhead() *columns {
	var list []json.RawMessage
	if json.NewDecoder(bytes.NewReader(w.src[w.at:min(len(w.src), w.at+maxPeek)])).Decode(&list) != nil {
		return nil
	}
	c, secret := &columns{}, false
	for _, raw := range list {
		var name string
		if json.Unmarshal(raw, &name) != nil {
			var column struct{ Name string }
			_ = json.Unmarshal(raw, &column)
			name = column.Name
		}
		c.names = append(c.names, name)
		secret = secret || w.r.named(name) != ""
	}
	if !secret {
		return nil
	}
	return c
}

// at is the scope of the cell in a column.
func (c *columns) at(r *Redactor, i int) scope {
	if i >= len(c.names) {
		return scope{}
	}
	rule := r.named(c.names[i])
	if rule == "" {
		return scope{}
	}
	s := r.secretScope(rule, c.names[i])
	s.number = s.number && rule != nameRule // a short number may be how many there are
	return s
}
