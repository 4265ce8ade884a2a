package streamable

import (
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// A site is the state shared by all connections of a tap.
type site struct {
	rec   tap.Recorder
	warn  func(string)
	hosts hosts
	// extra has the lines that are added to each request head, and extraNames
	// their names. The values are never recorded.
	extra      string
	extraNames []string
	// origins are the origins of web pages that may use extra.
	origins     []string
	rewriteAuth bool
	// keepSecrets reports that bytes that are not HTTP, which may have credentials, are
	// recorded instead of counted.
	keepSecrets bool
	// heads is the number of connections whose head is incomplete.
	heads *atomic.Int64
	// number returns the number of the next exchange.
	number func() uint64
}
