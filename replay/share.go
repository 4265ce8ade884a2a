package replay

import (
	"time"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A Key stands for what a request asks for: its method and its params by value,
// but for what differs from run to run without meaning anything (see Matching in
// the package comment). Two keys of one [Keyer] are equal if the requests are.
type Key struct{ exact key }

// A Keyer makes keys. It is not for use by several goroutines at once.
type Keyer struct{ k keyer }

// NewKeyer makes a Keyer.
func NewKeyer() *Keyer { return &Keyer{} }

// Key makes the key of a request, whose params must be valid JSON.
func (k *Keyer) Key(m *jsonrpc.Message) Key { return Key{k.k.key(m).exact} }

// Gap is how much of the time between two things that one side did passes at this
// pace.
func (p Pace) Gap(recorded time.Duration) time.Duration { return p.delay(recorded, false) }
