package streamable

import (
	"sync/atomic"

	"github.com/mcptap/mcptap/tap"
)

// A site is what all connections of a tap have in common.
type site struct {
	rec   tap.Recorder
	warn  func(string)
	hosts hosts
	// extra is the lines that are added to each request's head, and extraNames
	// the names in them: their values are never recorded.
	extra      string
	extraNames []string
	// origins are those of the web pages that may use extra.
	origins     []string
	rewriteAuth bool
	// keepSecrets records bytes that are not HTTP, which may have credentials; otherwise
	// they are counted.
	keepSecrets bool
	// live is how many connections are open.
	live *atomic.Int64
	// number numbers exchanges.
	number func() uint64
}
