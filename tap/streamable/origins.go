package streamable

import (
	"slices"
	"strings"
)

// foreignPage returns the web page that a request comes from, in words, if it may not use
// what is added to requests; "" if it may. A browser sends the origin of the page with
// all but simple GETs, of which it reports that they cross sites (Fetch Metadata).
func (u *upLane) foreignPage(h *head) string {
	if u.extra == "" {
		return ""
	}
	known := false
	for f := range h.all("Origin") {
		if !u.allowsOrigin(f.value) {
			return "a web page of " + f.value
		}
		known = true
	}
	for f := range h.all("Sec-Fetch-Site") {
		if !known && (strings.EqualFold(f.value, "cross-site") || strings.EqualFold(f.value, "same-site")) {
			return "a web page of another site"
		}
	}
	return ""
}

// allowsOrigin reports whether an origin is the tap's or was allowed.
func (u *upLane) allowsOrigin(origin string) bool {
	if slices.ContainsFunc(u.origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) }) {
		return true
	}
	scheme, authority, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(scheme, u.hosts.own.scheme) && u.hosts.isOwn(authority, u.local)
}

// isPreflight reports whether a request asks whether a page may send another (Fetch,
// 3.3.2).
func isPreflight(method string, h *head) bool {
	return method == "OPTIONS" && h.get("Access-Control-Request-Method") != ""
}
