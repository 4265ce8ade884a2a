package otlp

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// firstPause is how long it waits before it tries again, about. Each time it
	// waits twice as long, up to lastPause.
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// longestPause is what a collector may ask for.
	longestPause = 24 * time.Hour
	// patience is after how many tries in a row a busy collector is worth a word. One
	// that asks for more than lastPause is at once.
	patience = 3
)

// A retry is why a request is to be sent again.
type retry struct {
	why   string
	after time.Duration // what the collector asks for, 0 if nothing
	busy  bool          // it answers
}

// mayRetry reports whether a status says that the request may be sent again (OTLP
// specification, OTLP/HTTP Response, Retryable Response Codes).
func mayRetry(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryAfter reads the field: seconds or a date (RFC 9110 section 10.2.3). It is 0
// where it asks for nothing.
func retryAfter(field string, now time.Time) time.Duration {
	field = strings.TrimSpace(field)
	if seconds, err := strconv.ParseUint(field, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(longestPause/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(field); err == nil {
		return min(max(at.Sub(now), 0), longestPause)
	}
	return 0
}

// backoff is how long to wait after some tries: with a random part, so that many taps
// do not come back all at once.
func backoff(tries int) time.Duration {
	d := lastPause
	if tries < 5 {
		d = min(firstPause<<tries, lastPause)
	}
	return d/2 + rand.N(d)
}

// post sends a request until it is answered for good or the time for that is over. Collectors
// that cannot be reached are waited for as the busy ones are.
func (x *exporter) post(body []byte, spans int) {
	ctx, end := x.limit.begin()
	defer end()
	for tries := 0; ; tries++ {
		again, done := x.try(ctx, body, spans)
		if done || ctx.Err() != nil {
			return
		}
		if !again.busy || tries+1 == patience || again.after > lastPause {
			x.warn(again.why + "; mcptap goes on trying")
		}
		wait := again.after
		if wait == 0 {
			wait = backoff(tries)
		}
		if x.pause(ctx, wait) != nil {
			return
		}
	}
}
