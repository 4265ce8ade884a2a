package view

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Size returns a number of bytes with a unit: 845 B, 1.2 KiB, 64 MiB.
func Size[N int64 | uint64](n N) string {
	for _, u := range []struct {
		name string
		n    float64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		// A value that would round to 1024 of a unit is one of the next.
		if v := float64(n) / u.n; v >= 1 || v*1024 >= 1023.5 {
			if v < 9.95 {
				return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + u.name
			}
			return fmt.Sprintf("%.0f %s", v, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Took returns how long something took, in three digits or so: 85µs, 1.2ms,
// 123ms, 4.56s, 1m05s, 2h03m, 3d04h.
func Took(d time.Duration) string {
	switch {
	case d < -500*time.Nanosecond: // less is 0µs
		return "-" + Took(-max(d, -math.MaxInt64))
	case d < 0:
		return "0µs"
	case d < 999500*time.Nanosecond:
		return fmt.Sprintf("%.0fµs", float64(d)/1e3)
	case d < 99950*time.Microsecond:
		return fmt.Sprintf("%.1fms", float64(d)/1e6)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", float64(d)/1e6)
	case d < 9995*time.Millisecond:
		return fmt.Sprintf("%.2fs", float64(d)/1e9)
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1fs", float64(d)/1e9)
	}
	s := int64(math.Round(d.Seconds()))
	switch {
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}
