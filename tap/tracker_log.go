package tap

// logLevels is the number of levels of log messages, which are those of RFC
// 5424 (server/utilities/logging).
const logLevels = 8

// logLevel is the rank of a level, from debug, 0, to emergency; logLevels for
// one that does not exist.
func logLevel(name string) int {
	for i, level := range [logLevels]string{
		"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	} {
		if level == name {
			return i
		}
	}
	return logLevels
}

// log finds the call of a log message.
func (t *Tracker) log(x *arrival, w *callWords) {
	c := t.task(opposite(x.f.Lane), w.meta.relatedTask)
	if c == nil && x.f.Lane == ToClient {
		if stream := t.streams[x.f.Exchange]; stream.n > 0 {
			c, x.part.Guess = stream.newest.owner.call, stream.n > 1
		} else if x.f.Exchange == 0 {
			c, x.part.Guess = t.logged(logLevel(wordText(w.level)))
		}
	}
	if c != nil {
		x.part.Late = c.Status.Settled()
	}
	t.give(x, c, RoleLog)
}

// logged is the call for which a message of a level was logged, and whether
// that is a guess. A server may log only for a request that asks for it, from
// its level on (2026-07-28 server/utilities/logging); where it has no leave, it
// is likely to be one of those that ask at all.
func (t *Tracker) logged(level int) (*callState, bool) {
	a, n := newestLogging(t.logging[:level+1])
	if n == 0 {
		a, n = newestLogging(t.logging[level+1:])
	}
	if n == 0 {
		return nil, false
	}
	return a.call, n > 1
}

// newestLogging is the latest request in some lists and how many are in them.
func newestLogging(lists []list[none]) (newest *asked, n int) {
	for i := range lists {
		n += lists[i].n
		if e := lists[i].newest; e != nil && (newest == nil || newest.open.Ref.before(e.owner.open.Ref)) {
			newest = e.owner
		}
	}
	return newest, n
}

// before reports whether r crossed before other.
func (r Ref) before(other Ref) bool {
	return r.Seq < other.Seq || r.Seq == other.Seq && r.Index < other.Index
}
