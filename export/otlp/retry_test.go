package otlp

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcptap/mcptap/export"
)

func TestTracesURL(t *testing.T) {
	for raw, want := range map[string]string{
		"http://localhost:4318":                  "http://localhost:4318/v1/traces",
		"http://localhost:4318/":                 "http://localhost:4318/v1/traces",
		"https://u:p@example.com/otlp?k=v#f":     "https://u:p@example.com/otlp/v1/traces?k=v",
		"https://example.com/api/otel/v1/traces": "https://example.com/api/otel/v1/traces",
		"http://[::1]:4318":                      "http://[::1]:4318/v1/traces",
		"localhost:4318":                         "",
		"ftp://secret.example":                   "",
		"http://":                                "",
		"http://secret\x7f":                      "",
		"":                                       "",
	} {
		u, err := TracesURL(raw)
		if want == "" {
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v, %v", raw, u, err)
			}
		} else if err != nil || u.String() != want {
			t.Errorf("%q: %v, %v", raw, u, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC)
	for field, want := range map[string]time.Duration{
		"": 0, "0": 0, " 7 ": 7 * time.Second, "-1": 0, "1.5": 0, "soon": 0,
		"99999999999999": longestPause, "99999999999999999999999": 0,
		"Sat, 21 Nov 2026 22:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 21:00:00 GMT": 0, "Mon, 21 Nov 2033 21:00:00 GMT": longestPause,
	} {
		if got := retryAfter(field, now); got != want {
			t.Errorf("%q: %v, want %v", field, got, want)
		}
	}
	for tries := range 100 {
		most := min(firstPause<<min(tries, 10), lastPause)
		if d := backoff(tries); d < most/2 || d > most*3/2 {
			t.Errorf("%d: %v", tries, d)
		}
	}
}

// TestRetries checks that spans are sent again after the Retry-After, and arrive once.
func TestRetries(t *testing.T) {
	c, heard := newCollector(t, func(n int, w http.ResponseWriter) {
		switch n {
		case 0:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}), &warnings{}
	var waits []time.Duration
	s := sender(t, c.URL, heard, func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	})
	spans := pings(1)
	s.Send(nil, spans)
	s.Close()
	bodies := c.all()
	if len(bodies) != 3 || bodies[0] != bodies[2] || len(read(t, bodies[2:]).spans) != len(spans) {
		t.Errorf("%q", bodies)
	}
	if len(waits) != 2 || waits[0] != 7*time.Second || waits[1] < firstPause || waits[1] > 3*firstPause || len(heard.all()) > 0 {
		t.Errorf("%v %q", waits, heard.all())
	}
}

// TestWarnings checks the warnings about a collector that stays busy, or closes connections.
func TestWarnings(t *testing.T) {
	for name, respond := range map[string]func(int, http.ResponseWriter){
		"does not accept traces now: 504 Gateway Timeout; mcptap keeps trying": func(n int, w http.ResponseWriter) {
			if n < 5 {
				w.WriteHeader(http.StatusGatewayTimeout)
			}
		},
		"does not accept traces now: 429 Too Many Requests; mcptap keeps trying": func(n int, w http.ResponseWriter) {
			if n < 1 {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		},
		"cannot be reached: EOF; mcptap keeps trying": func(n int, _ http.ResponseWriter) {
			if n < 2 {
				panic(http.ErrAbortHandler)
			}
		},
		"ended its response early: unexpected EOF; mcptap keeps trying": func(n int, w http.ResponseWriter) {
			if n < 2 {
				w.Header().Set("Content-Length", "10")
				w.WriteHeader(http.StatusInternalServerError)
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		},
	} {
		c, heard := newCollector(t, respond), &warnings{}
		s := sender(t, c.URL, heard, func(context.Context, time.Duration) error { return nil })
		s.Send(nil, pings(1))
		s.Close()
		if all := heard.all(); len(all) != 1 || all[0] != c.URL+"/v1/traces "+name {
			t.Errorf("%q, want %s", all, name)
		}
		if bodies := c.all(); len(read(t, bodies[len(bodies)-1:]).spans) != 2 {
			t.Errorf("%q", bodies)
		}
	}
}

// TestRefusals checks that refused spans are not sent again, and that the warning has no secrets
// of the URL.
func TestRefusals(t *testing.T) {
	for name, respond := range map[string]func(http.ResponseWriter){
		"refuses traces: 401 Unauthorized": func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) },
		"refuses traces: 404 Not Found":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) },
		"refuses traces: 500 Internal Server Error": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(make([]byte, 1<<20))
		},
		"refuses traces: 307 Temporary Redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "/other")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"rejects 2 of 3 spans: too old": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}`))
		},
		"rejects 1 of 3 spans: " + strings.Repeat("x", maxMessage) + "…": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":1,"errorMessage":"` + strings.Repeat("x", 3000) + `"}}`))
		},
		"": func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":0,"errorMessage":"a hint"}}`))
		},
	} {
		c, heard := newCollector(t, func(_ int, w http.ResponseWriter) { respond(w) }), &warnings{}
		url := strings.Replace(c.URL, "http://", "http://user:pass@", 1) + "?token=s3cret"
		s := sender(t, url, heard, func(context.Context, time.Duration) error {
			t.Errorf("%s: sent again", name)
			return context.Canceled
		})
		spans := pings(2)
		s.Send(nil, spans)
		s.Send(nil, spans[:0])
		s.Close()
		if all := strings.Join(heard.all(), "\n"); name == "" && all != "" || name != "" && all != c.URL+"/v1/traces "+name {
			t.Errorf("%q, want %q", all, name)
		}
		if len(c.all()) != 1 || c.requests[0].Header.Get("Authorization") == "" || c.requests[0].URL.RawQuery != "token=s3cret" {
			t.Errorf("%s: %q", name, c.all())
		}
	}
}

// TestUnreachable checks that a Sender retries until its limit.
func TestUnreachable(t *testing.T) {
	c, heard := newCollector(t, nil), &warnings{}
	c.Close()
	tries := 0
	var s *Sender
	s = sender(t, c.URL, heard, func(ctx context.Context, _ time.Duration) error {
		if tries++; tries == 4 {
			s.Limit(0)
			<-ctx.Done()
		}
		return ctx.Err()
	})
	s.Send(nil, pings(1))
	s.Close()
	all := heard.all()
	if len(all) != 1 || !strings.HasPrefix(all[0], c.URL+"/v1/traces cannot be reached: dial tcp ") || tries != 4 {
		t.Errorf("%q after %d tries", all, tries)
	}
}

// TestHangs checks that a collector that never responds blocks Send, with bounded memory, until
// the limit.
func TestHangs(t *testing.T) {
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	c := newCollector(t, func(int, http.ResponseWriter) {
		arrived <- struct{}{}
		<-release
	})
	defer close(release)
	s := sender(t, c.URL, &warnings{}, nil)
	const n = 5000
	sent, handed := make(chan struct{}), make(chan int, n+1)
	go func() {
		defer close(sent)
		spans := pings(n)
		for i := range spans {
			s.Send(nil, []export.Span{spans[i]})
			handed <- i
		}
		s.Close()
	}()
	<-arrived
	if len(handed) > maxQueue+3*export.SpansPerLine {
		t.Errorf("%d spans were accepted without a response", len(handed))
	}
	s.Limit(time.Millisecond)
	<-sent
}
