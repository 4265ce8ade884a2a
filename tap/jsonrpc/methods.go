package jsonrpc

import (
	"slices"
	"strings"
)

// A Method is a method of one of the five revisions, of the tasks extension or of the
// 002 dialect.
type Method struct {
	// Name is the method on the wire.
	Name string
	// Kind is [Request] or [Notification].
	Kind Kind
	// Client and Server are the vocabularies in which the side sends it.
	Client, Server RevisionSet
	// Embedded are the vocabularies in which it is sent without an id, inside a
	// result's inputRequests (2026-07-28, basic/patterns/mrtr).
	Embedded RevisionSet
	// Param is the member of params that names what the message is about, such
	// as "name" or "uri"; "" when it takes several or none.
	Param string
	// about returns the subject if Param does not name it.
	about func(params Value) string
}

// In reports whether the method exists in r, in either direction.
func (m Method) In(r Revision) bool { return (m.Client | m.Server | m.Embedded).Has(r) }

// Methods returns every known method, in the order of the specification.
func Methods() []Method { return slices.Clone(methods) }

// LookupMethod returns the method with the given name.
func LookupMethod(name string) (Method, bool) {
	m, ok := methodIndex[name]
	return m, ok
}

// isNotification reports whether a method is that of a notification. An unknown method is
// one if its name begins like those of notifications.
func isNotification(method string) bool {
	if m, ok := methodIndex[method]; ok {
		return m.Kind == Notification
	}
	return strings.HasPrefix(method, "notifications/")
}

var methodIndex map[string]Method

// init breaks an initialization cycle: the subject of a method can be that of a message.
func init() {
	methodIndex = map[string]Method{}
	for _, m := range methods {
		methodIndex[m.Name] = m
	}
}

const inFirst4AndDialect = inLegacy | inDialect

var methods = []Method{
	// Opening and closing: basic/lifecycle; server/discover.
	{Name: "initialize", Kind: Request, Client: inFirst4AndDialect, about: aboutInitialize},
	{Name: "notifications/initialized", Kind: Notification, Client: inLegacy},
	{Name: "server/discover", Kind: Request, Client: in2026, about: aboutDiscover},
	{Name: "ping", Kind: Request, Client: inLegacy, Server: inLegacy},

	// Utilities: basic/utilities, basic/patterns.
	{Name: "notifications/cancelled", Kind: Notification, Client: inAll, Server: inAll, about: aboutCancelled},
	{Name: "notifications/progress", Kind: Notification, Client: inLegacy, Server: inAll, about: aboutProgress},
	{Name: "subscriptions/listen", Kind: Request, Client: in2026, about: aboutListen},
	{Name: "notifications/subscriptions/acknowledged", Kind: Notification, Server: in2026, about: aboutListen},

	// Tools: server/tools.
	{Name: "tools/list", Kind: Request, Client: inAll | inDialect, Param: "cursor"},
	{Name: "tools/call", Kind: Request, Client: inAll, Param: "name"},
	{Name: "notifications/tools/list_changed", Kind: Notification, Server: inAll},

	// Resources: server/resources.
	{Name: "resources/list", Kind: Request, Client: inAll | inDialect, Param: "cursor"},
	{Name: "resources/templates/list", Kind: Request, Client: inAll, Param: "cursor"},
	{Name: "resources/read", Kind: Request, Client: inAll, Param: "uri"},
	{Name: "resources/subscribe", Kind: Request, Client: inLegacy, Param: "uri"},
	{Name: "resources/unsubscribe", Kind: Request, Client: inLegacy, Param: "uri"},
	{Name: "notifications/resources/list_changed", Kind: Notification, Server: inAll},
	{Name: "notifications/resources/updated", Kind: Notification, Server: inAll, Param: "uri"},

	// Prompts: server/prompts.
	{Name: "prompts/list", Kind: Request, Client: inAll, Param: "cursor"},
	{Name: "prompts/get", Kind: Request, Client: inAll, Param: "name"},
	{Name: "notifications/prompts/list_changed", Kind: Notification, Server: inAll},

	// Server utilities: server/utilities.
	{Name: "completion/complete", Kind: Request, Client: inAll, about: aboutCompletion},
	{Name: "logging/setLevel", Kind: Request, Client: inLegacy, Param: "level"},
	{Name: "notifications/message", Kind: Notification, Server: inAll, about: aboutLog},

	// Requests of the server to the client: client/sampling, client/roots,
	// client/elicitation.
	{Name: "sampling/createMessage", Kind: Request, Server: inLegacy, Embedded: in2026 | inTasks, about: aboutSampling},
	{Name: "roots/list", Kind: Request, Server: inLegacy, Embedded: in2026 | inTasks},
	{Name: "notifications/roots/list_changed", Kind: Notification, Client: inLegacy},
	{Name: "elicitation/create", Kind: Request, Server: inJun25 | inNov25, Embedded: in2026 | inTasks, about: aboutElicitation},
	{Name: "notifications/elicitation/complete", Kind: Notification, Server: inNov25, Param: "elicitationId"},

	// Tasks: 2025-11-25 basic/utilities/tasks, and the extension, which kept
	// two of the names.
	{Name: "tasks/get", Kind: Request, Client: inNov25 | inTasks, Server: inNov25, Param: "taskId"},
	{Name: "tasks/result", Kind: Request, Client: inNov25, Server: inNov25, Param: "taskId"},
	{Name: "tasks/list", Kind: Request, Client: inNov25, Server: inNov25, Param: "cursor"},
	{Name: "tasks/cancel", Kind: Request, Client: inNov25 | inTasks, Server: inNov25, Param: "taskId"},
	{Name: "tasks/update", Kind: Request, Client: inTasks, Param: "taskId"},
	{Name: "notifications/tasks/status", Kind: Notification, Client: inNov25, Server: inNov25, about: aboutTask},
	{Name: "notifications/tasks", Kind: Notification, Server: inTasks, about: aboutTask},

	// Methods of the dialect alone.
	{Name: "initialized", Kind: Notification, Client: inDialect},
	{Name: "tools/invoke", Kind: Request, Client: inDialect, Param: "name"},
	{Name: "tools/changed", Kind: Notification, Server: inDialect, about: aboutChanged},
	{Name: "resources/changed", Kind: Notification, Server: inDialect, about: aboutChanged},
	{Name: "cancel", Kind: Notification, Client: inDialect, about: aboutCancelled},
	{Name: "progress", Kind: Notification, Server: inDialect, about: aboutProgress},
	{Name: "shutdown", Kind: Request, Client: inDialect},
	{Name: "exit", Kind: Notification, Client: inDialect},
}

// A Revision is a version of the protocol as named on the wire, such as
// "2025-06-18", or one of the two other vocabularies.
type Revision string

// The revisions of the specification, oldest first, and two vocabularies that
// are not revisions: the tasks extension of 2026-07-28, and the dialect of a draft
// that calls itself 2025-06-18 (see [Dialect002]).
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

// EraOf returns the era of a version on the wire, "" for "". The specification orders
// versions as strings, so a future version is modern, and so are the drafts of the first
// modern one.
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

// The sets used in the method table.
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
	i := slices.Index(Revisions, r)
	return i >= 0 && s>>i&1 == 1
}
