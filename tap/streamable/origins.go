package streamable

import (
	"slices"
	"strings"
)

// foreignPage describes the web page that a request comes from, if the page may not use
// the added fields, otherwise "". A browser sends the origin of the page with
// all requests except simple GETs, which have Fetch Metadata.
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

// allowsOrigin reports whether an origin is that of the tap or was allowed.
func (u *upLane) allowsOrigin(origin string) bool {
	if slices.ContainsFunc(u.origins, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "/"), origin) }) {
		return true
	}
	scheme, authority, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(scheme, u.hosts.own.scheme) && u.hosts.isOwn(authority, u.local)
}

// isPreflight reports whether a request is a CORS preflight (Fetch, 3.3.2).
func isPreflight(method string, h *head) bool {
	return method == "OPTIONS" && h.get("Access-Control-Request-Method") != ""
}
