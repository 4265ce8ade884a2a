package term

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	safe "github.com/mcptap/mcptap/internal/term/escape"
)

// ParseSize parses a size such as 64MiB, 1.5 GB, 500k or 4096B. K, M and G are powers of
// 1024.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	end := strings.LastIndexAny(text, "0123456789.") + 1
	number, unit := text[:end], strings.ToLower(strings.TrimSpace(text[end:]))
	factor := map[string]float64{
		"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9,
		"k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
	}[unit]
	v, err := strconv.ParseFloat(number, 64)
	if err == nil && unit == "" && v > 0 {
		return 0, fmt.Errorf("size %s has no unit (such as %sMiB, or %sB for bytes)", Quote(s), number, number)
	}
	if err != nil || factor == 0 && v != 0 || v < 0 || math.IsInf(v, 0) || v*factor > 1<<50 ||
		strings.ContainsAny(number, "eExXpP_") {
		return 0, fmt.Errorf("invalid size %s (a number with a unit, such as 64MiB)", Quote(s))
	}
	return int64(v * factor), nil
}

// Offset formats a time since the start of a recording, always in milliseconds, so that times in a
// column are easy to compare.
func Offset(d time.Duration) string {
	ms := d.Milliseconds()
	s := ms / 1000
	switch {
	case s < 60:
		return fmt.Sprintf("%d.%03ds", s, ms%1000)
	case s < 3600:
		return fmt.Sprintf("%dm%02d.%03ds", s/60, s%60, ms%1000)
	}
	return fmt.Sprintf("%dh%02dm%02d.%03ds", s/3600, s/60%60, s%60, ms%1000)
}

// Start formats the start of a recording in at most 12 columns, omitting the parts that equal those of
// now.
func Start(t, now time.Time) string {
	switch y, m, d := t.Date(); {
	case t.IsZero():
		return "-"
	case y != now.Year():
		return t.Format("2006-01-02")
	case m != now.Month() || d != now.Day():
		return t.Format("Jan _2 15:04")
	}
	return t.Format("15:04:05")
}

// Plural returns a count with its noun.
func Plural[N int | uint64 | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Quote quotes recorded text or user input for an error message.
func Quote(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}

// ShellQuote returns s as one word for a POSIX shell.
func ShellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./=:,@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(safe.String(s), "'", `'\''`) + "'"
}
