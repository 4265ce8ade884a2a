package term

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for in, want := range map[string]int64{
		"4096B": 4096, "64MiB": 64 << 20, "64 MiB": 64 << 20, "1.5k": 1536, "2kb": 2000, "1GB": 1e9, "0": 0, "10B": 10, "1g": 1 << 30,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1e9", "0x10", "NaN", "Inf", "64 apples", "1_000", "9999999999999GiB"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", in, got)
		}
	}
	for in, want := range map[time.Duration]string{0: "0.000s", 12345 * time.Millisecond: "12.345s", 62 * time.Second: "1m02.000s",
		time.Hour + 61*time.Second + 5*time.Millisecond: "1h01m01.005s"} {
		if got := Offset(in); got != want {
			t.Errorf("formatOffset(%d) = %q, want %q", in, got, want)
		}
	}
}
