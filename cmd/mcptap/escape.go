package main

import safe "github.com/mcptap/mcptap/internal/term/escape"

// The functions of package escape, under the short names that this package uses.

func hazard(r rune) bool { return safe.Hazard(r) }

func plainASCII(b []byte) int { return safe.ASCII(b) }

func escape(s string) string { return safe.Escape(s) }

func clean(s string) bool { return safe.Clean(s) }

func escapeRune(r rune) string { return safe.EscapeRune(r) }

func appendEscape(dst []byte, r rune) []byte { return safe.AppendEscape(dst, r) }

func encodeJSON(v any) ([]byte, error) { return safe.JSON(v) }

func unquote(token []byte) ([]byte, error) { return safe.Unquote(token) }
