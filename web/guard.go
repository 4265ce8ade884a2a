package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// NewToken returns a random token of 32 characters.
func NewToken() string {
	var b [24]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// tokenParam is the query parameter that carries the token.
const tokenParam = "token"

// A guard decides which requests have access.
type guard struct {
	token string
	// session is the value of the cookie that replaces the token, and cookie its name. Cookies
	// ignore ports, so each server uses its own name.
	session, cookie string
	// host is the name or address that the server listens on. open reports that it is not a
	// loopback address.
	host string
	open bool
}

// newGuard returns a guard for a server that listens on host, "" for loopback.
func newGuard(token, host string) *guard {
	sum := sha256.Sum256([]byte("cookie of " + token))
	cookie := "mcptap-" + hex.EncodeToString(sum[:4])
	g := &guard{token: token, session: NewToken(), cookie: cookie, host: strings.ToLower(host)}
	g.open = host != "" && host != "localhost" && !isLoopback(host)
	return g
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// policy is the content security policy of the page. Trusted types forbid every sink that parses
// markup, without exceptions.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// refuse returns why a request is refused before its access is checked, or "". A foreign page can make
// its own name resolve to this machine, but it cannot change the Host that the browser sends.
func (g *guard) refuse(r *http.Request) (why string, status int) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return "the viewer is read-only", http.StatusMethodNotAllowed
	}
	if !g.serves(r.Host) {
		return "unknown host name; use the URL that mcptap printed", http.StatusForbidden
	}
	return "", 0
}

// serves reports whether a Host belongs to this machine.
func (g *guard) serves(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || isLoopback(host) {
		return true
	}
	if !g.open {
		return false
	}
	// A name, in contrast, can resolve to any address.
	_, err := netip.ParseAddr(host)
	return err == nil || host == g.host
}

// foreign reports whether a page of another origin made a request. A WebSocket must have an Origin,
// which browsers always send; other requests may lack it.
func (g *guard) foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return r.Header.Get("Upgrade") != ""
	}
	return len(origins) > 1 || origins[0] != "http://"+r.Host
}

// admits reports whether a request carries the token in its URL, or the cookie.
func (g *guard) admits(r *http.Request) bool {
	if same(r.URL.Query().Get(tokenParam), g.token) {
		return true
	}
	for _, c := range r.CookiesNamed(g.cookie) {
		if same(c.Value, g.session) {
			return true
		}
	}
	return false
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// remember sets the cookie.
func (g *guard) remember(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookie, Value: g.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}
