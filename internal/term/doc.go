// Package term prints for a terminal: styles, widths, tables, units and the pager. Texts must be
// escaped before they are measured or printed; see package internal/term/escape.
package term
