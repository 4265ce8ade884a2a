package main

import "github.com/mcptap/mcptap/tap/printable"

// The words of package printable, under the short names that this package uses all
// over.

func hazard(r rune) bool { return printable.Hazard(r) }

func plainASCII(b []byte) int { return printable.ASCII(b) }

func escape(s string) string { return printable.Escape(s) }

func clean(s string) bool { return printable.Clean(s) }

func escapeRune(r rune) string { return printable.EscapeRune(r) }

func appendEscape(dst []byte, r rune) []byte { return printable.AppendEscape(dst, r) }

func unquote(src []byte) ([]byte, error) { return printable.Unquote(src) }
