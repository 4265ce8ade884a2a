package client

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// A voice knows in which revision the session was recorded and in which it is
// spoken.
type voice struct {
	recorded, speaks jsonrpc.Revision
	// crosses says that the two are of different eras, changes that they differ.
	crosses, changes bool
	// agreed is the revision that the live server agreed to in a handshake.
	agreed jsonrpc.Revision

	// hello is the identity of the client: its info and capabilities as they stand.
	info, capabilities []byte
	level              string // of log messages, "" for not asked for
	greeted            bool   // the session is open
	listens            map[string]*flight
	uris               map[int][]string // of a listen that was recorded, by its ask
}

// begin finds out what is to be spoken.
func (v *voice) begin(plan *Plan, revision jsonrpc.Revision) error {
	v.recorded = cmp.Or(plan.facts.Revision, plan.facts.Requested)
	v.speaks = cmp.Or(revision, v.recorded)
	v.listens, v.uris = map[string]*flight{}, map[int][]string{}
	v.changes = v.speaks != v.recorded
	v.crosses = v.changes && plan.facts.Era != "" && jsonrpc.EraOf(revision) != plan.facts.Era
	if v.changes && plan.facts.Dialect != "" {
		return ErrRevision
	}
	if v.crosses || v.modern() || plan.hello < 0 { // else the server has yet to agree
		v.agreed = v.speaks
	}
	if !v.crosses {
		return nil
	}
	return v.identify(plan)
}

// identify reads who the client is.
func (v *voice) identify(plan *Plan) error {
	n, names := plan.hello, []string{"clientInfo", "capabilities"}
	if plan.facts.Era == jsonrpc.Modern {
		n, names = plan.modern, []string{metaPrefix + "clientInfo", metaPrefix + "clientCapabilities"}
	}
	v.info, v.capabilities = []byte(`{"name":"mcptap","version":"replay"}`), []byte(`{}`)
	if n < 0 {
		return nil
	}
	f, err := plan.load(plan.asks[n].ref.Seq)
	if err != nil {
		return err
	}
	m := jsonrpc.PeekFrame(&f)
	from := m.Params
	if plan.facts.Era == jsonrpc.Modern {
		from = lookup(m.Params, "_meta")
	}
	if x := lookup(from, names[0]); x != nil {
		v.info = x
	}
	if x := lookup(from, names[1]); x != nil {
		v.capabilities = x
	}
	if plan.facts.Era == jsonrpc.Legacy && slices.ContainsFunc(plan.asks, func(a ask) bool { return a.tasked }) {
		// Or the server must not make a task of anything.
		caps, _ := readObject(v.capabilities)
		extensions, _ := readObject(caps.get("extensions"))
		v.capabilities = caps.set("extensions", extensions.set(metaPrefix+"tasks", []byte("{}")).bytes()).bytes()
	}
	return nil
}

// modern reports whether what is spoken has no handshake.
func (v *voice) modern() bool { return jsonrpc.EraOf(v.speaks) == jsonrpc.Modern }

// retries reports whether the live server asks by input_required results.
func (v *voice) retries() bool { return !v.crosses || v.modern() }

// batches reports whether frames with several messages may be sent (2025-03-26
// basic/index).
func (v *voice) batches() bool { return !v.changes || !v.crosses && v.speaks == jsonrpc.Rev20250326 }

// renames reports whether a request names the revision that is spoken.
func (v *voice) renames(method string) bool {
	return v.changes && !v.crosses && method == "initialize"
}

// hears reports whether something that was heard in the recording is to be waited
// for.
func (v *voice) hears(s *step) bool {
	if !v.crosses {
		return true
	}
	m, ok := jsonrpc.LookupMethod(s.method)
	return ok && m.Server.Has(v.speaks) && s.method != "notifications/subscriptions/acknowledged"
}

// says reports whether a notification of the client's exists in what is spoken.
func (v *voice) says(method string) bool {
	if !v.changes {
		return true
	}
	m, ok := jsonrpc.LookupMethod(method)
	return !ok || m.Client.Has(v.speaks)
}

// asks reports whether a request does.
func (v *voice) asks(method string) bool {
	if !v.changes {
		return true
	}
	m, ok := jsonrpc.LookupMethod(method)
	return !ok || m.Client.Has(v.speaks) || v.modern() && m.Client.Has(jsonrpc.ExtTasks)
}

// implied are the requests of one era that the other says in another way, or has no
// need of: no word is lost about them.
func implied(method string) bool {
	switch method {
	case "initialize", "server/discover", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen":
		return true
	}
	return strings.HasPrefix(method, "notifications/")
}
