package term

import (
	"strings"

	safe "github.com/mcptap/mcptap/internal/term/escape"
)

// ShellQuote returns s as one word for a POSIX shell.
func ShellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./=:,@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(safe.String(s), "'", `'\''`) + "'"
}
