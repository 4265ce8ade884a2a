package view

import (
	"strings"

	"github.com/mcptap/mcptap/tap"
)

// An exchange is what is remembered of an HTTP exchange.
type exchange struct {
	method string
	status int
	asks   bool // it has brought a request
}

// exchanges are those that are not over, the last [tap.MaxExchanges] / 2 of them
// at least. When there are as many young ones, the old ones are forgotten.
type exchanges struct{ young, old map[uint64]exchange }

// maxMethod is how much of the method of an exchange is kept, in bytes. None that
// says anything is longer.
const maxMethod = 32

func newExchange(method string) exchange {
	return exchange{method: strings.Clone(method[:min(len(method), maxMethod)])}
}

func (x *exchanges) get(number uint64) (exchange, bool) {
	if known, ok := x.young[number]; ok {
		return known, true
	}
	known, ok := x.old[number]
	return known, ok
}

func (x *exchanges) put(number uint64, known exchange) {
	if _, ok := x.old[number]; ok {
		x.old[number] = known
		return
	}
	if x.young == nil || len(x.young) >= tap.MaxExchanges/2 {
		x.young, x.old = map[uint64]exchange{}, x.young
	}
	x.young[number] = known
}

func (x *exchanges) over(number uint64) {
	delete(x.young, number)
	delete(x.old, number)
}
