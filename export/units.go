package export

import (
	"strconv"
	"time"
)

// took is a time for a person.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < 10*time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// millis is a time as HAR has it.
func millis(d time.Duration) float64 { return float64(max(d, 0)) / 1e6 }
