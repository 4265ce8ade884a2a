package jsonrpc

// A Revision is a version of the protocol as named on the wire, such as
// "2025-06-18", or one of the two vocabularies beside the revisions.
type Revision string

// The revisions of the specification, oldest first, and two vocabularies that
// are not revisions: the tasks extension of 2026-07-28, and the dialect of a
// draft that goes around under the name of 2025-06-18 (see [Dialect002]).
const (
	Rev20241105 Revision = "2024-11-05"
	Rev20250326 Revision = "2025-03-26"
	Rev20250618 Revision = "2025-06-18"
	Rev20251125 Revision = "2025-11-25"
	Rev20260728 Revision = "2026-07-28"
	ExtTasks    Revision = "ext-tasks"
	Dialect     Revision = "dialect-002"
)

// Dialect002 marks, in [session.Facts.Dialect], a session in the dialect of a document
// that calls itself a detailed draft of 2025-06-18: mcpVersion instead of
// protocolVersion, tools/invoke instead of tools/call, bare arrays as results.
const Dialect002 = "002"

// Revisions lists the vocabularies, oldest first.
var Revisions = []Revision{
	Rev20241105, Rev20250326, Rev20250618, Rev20251125, Rev20260728, ExtTasks, Dialect,
}

// An Era is how a session opens: with a handshake, or without one
// (2026-07-28, basic/versioning#terminology).
type Era string

const (
	// Legacy is 2024-11-05 to 2025-11-25: initialize opens a session.
	Legacy Era = "legacy"
	// Modern is 2026-07-28 and after: each request carries its version.
	Modern Era = "modern"
)

// EraOf returns the era of a version on the wire, "" for "". The
// specification orders its versions as strings, so a version that is not known
// yet is modern, and so are the drafts of the first modern one.
func EraOf(r Revision) Era {
	switch {
	case r == "":
		return ""
	case r == Dialect:
		return Legacy
	case r >= Rev20260728: // ext-tasks and DRAFT-2026-v1 too
		return Modern
	}
	return Legacy
}

// A RevisionSet is a set of vocabularies.
type RevisionSet uint8

// The sets that the method table is written in.
const (
	in2024 RevisionSet = 1 << iota
	inMar25
	inJun25
	inNov25
	in2026
	inTasks
	inDialect

	inAll    = in2024 | inMar25 | inJun25 | inNov25 | in2026
	inLegacy = inAll &^ in2026
)

// Has reports whether r is in the set.
func (s RevisionSet) Has(r Revision) bool {
	for i, known := range Revisions {
		if known == r {
			return s>>i&1 == 1
		}
	}
	return false
}
