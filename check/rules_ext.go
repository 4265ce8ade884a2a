package check

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

const (
	tasksExtension = jsonrpc.MetaPrefix + "tasks"
	pageTasks      = "ext-tasks:specification/draft/tasks"
)

// rulesExtension are about extensions: the tasks extension of 2026-07-28.
var rulesExtension = []Rule{
	{
		ID: "ext-01", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   `resultType "task" is returned only to a tools/call that declared the extension io.modelcontextprotocol/tasks.`,
		Source: pageTasks + "#capability-negotiation, #supported-methods",
		Fix:    "Check the extension in _meta of the request; otherwise answer directly or with -32021.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.ResultType != "task":
			case m.Request == nil || m.Request.Params == nil:
				v.Skip("the request is not known")
			case m.Request.Method != "tools/call":
				v.Violate(m.Request.Method, "$.result.resultType", "a task for "+m.Request.Method)
			default:
				v.Check(declaresTasks(m.Request.Params), m.Subject(), "$.result.resultType", "the request does not declare "+tasksExtension)
			}
		}, "result"),
	},
	{
		ID: "ext-02", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   `The result of tasks/get has resultType "complete", the fields of the task at the top level, and inputRequests, result or error according to its status.`,
		Source: pageTasks + "#task-polling",
		Fix:    "Return the task flat, with resultType complete.",
		New: each(func(m *Message, v *Verdict) {
			result := m.Outcome()
			if m.ResultType != "complete" {
				v.Violate("resultType", "$.result.resultType", describe(result.Get("resultType")))
				return
			}
			need := map[string]string{"completed": "result", "failed": "error", "input_required": "inputRequests"}[result.Get("status").Decoded()]
			missing := missingTaskField(result)
			if missing == "" && need != "" && result.Get(need) == nil {
				missing = need
			}
			v.Check(missing == "", missing, "$.result."+missing, describe(result.Get(missing)))
		}, "result tasks/get"),
	},
	{
		ID: "ext-03", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   `tasks/update and tasks/cancel are acknowledged with an empty result: resultType "complete", and optionally _meta.`,
		Source: pageTasks + "#task-update-requests, #task-cancellation",
		Fix:    "Return the empty acknowledgment; the status is polled.",
		New: each(func(m *Message, v *Verdict) {
			for name := range m.Outcome().Each {
				if n := string(name); n != "resultType" && n != "_meta" {
					v.Violate(m.Request.Method, "$.result."+jsonrpc.Bound(n), "more than an acknowledgment")
					return
				}
			}
			v.Check(m.ResultType == "complete", m.Request.Method, "$.result.resultType", describe(m.Member("resultType")))
		}, "result tasks/update", "result tasks/cancel"),
	},
	{
		ID: "ext-04", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "A key of inputRequests never stands for two different requests of the same task.",
		Source: pageTasks + "#task-update-requests",
		Fix:    "Number the keys.",
		New: func(*Session) Hooks {
			seen := bounded.Map[string, [32]byte]{Max: maxRequests} // requests by task and key
			return Hooks{On: []string{"result tasks/get"}, Message: func(m *Message, v *Verdict) {
				task := m.Member("taskId").Decoded()
				for key, request := range m.Member("inputRequests").Each {
					id, own := task+"\x00"+jsonrpc.Bound(string(key)), sha256.Sum256(request)
					before, known := seen.Get(id)
					seen.Put(id, own)
					v.CheckValue(!known || before == own, jsonrpc.Bound(string(key)), "$.result.inputRequests", "another request with this key", request)
				}
			}}
		},
	},
	{
		ID: "ext-05", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "Status failed is used only for JSON-RPC errors; a tool result with isError is completed.",
		Source: pageTasks + "#task-status, #task-execution-errors",
		Fix:    "Put results with isError into result, with status completed.",
		New: each(func(m *Message, v *Verdict) {
			switch result := m.Outcome(); result.Get("status").Decoded() {
			case "failed":
				v.Check(result.Get("result") == nil, "failed", "$.result.status", "failed with a result")
			case "completed":
				v.Hold()
			}
		}, "result tasks/get"),
	},
	{
		ID: "ext-06", Class: "must", In: "E", Side: "client", Transport: "any",
		Text:   "A task is cancelled with tasks/cancel, not with notifications/cancelled.",
		Source: pageTasks + "#task-cancellation",
		Fix:    "Send tasks/cancel.",
		New:    cancelledAsTask(func(m *Message) bool { return m.ResultType == "task" }),
	},
	{
		ID: "ext-07", Class: "must", In: "E", Side: "client", Transport: "http",
		Text:   "Mcp-Name equals params.taskId on tasks/get, tasks/update and tasks/cancel.",
		Source: pageTasks + "#streamable-http-routing-headers",
		Fix:    "Set the header.",
		New: each(func(m *Message, v *Verdict) {
			if id := m.Param("taskId").Decoded(); id != "" {
				m.compareField(v, "Mcp-Name", id)
			}
		}, "request tasks/get", "request tasks/update", "request tasks/cancel"),
	},
	{
		ID: "ext-08", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "tasks/get, tasks/update and tasks/cancel from a request that did not declare the extension are answered with -32021.",
		Source: pageTasks + "#protocol-errors",
		Fix:    "Return -32021, naming the extension.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.Request.Params == nil:
				v.Skip("the request is not known")
			case declaresTasks(m.Request.Params) || m.ErrorCode == "-32601": // the server does not know the extension
			case m.Kind == jsonrpc.Response:
				v.Violate(m.Request.Method, "$.result", "a result instead of the error -32021")
			default:
				v.Check(m.ErrorCode == "-32021", m.Request.Method, "$.error.code", m.ErrorCode+" instead of -32021")
			}
		}, "result tasks/get", "result tasks/update", "result tasks/cancel", "error tasks/get", "error tasks/update", "error tasks/cancel"),
	},
	{
		ID: "ext-09", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   `A result with resultType "task" has taskId, status, createdAt, lastUpdatedAt and ttlMs, an integer or null.`,
		Source: pageTasks + "#tasks, #task-creation; ext-tasks schema CreateTaskResult",
		Fix:    "Add the missing fields.",
		New: each(func(m *Message, v *Verdict) {
			if m.ResultType == "task" {
				missing := missingTaskField(m.Outcome())
				v.Check(missing == "", missing, "$.result."+missing, describe(m.Outcome().Get(missing)))
			}
		}, "result"),
	},
	{
		ID: "ext-10", Class: "must", In: "E", Side: "server", Transport: "any",
		Text:   "A task can be polled as soon as its id is returned: the first tasks/get, within ttlMs and before any tasks/cancel, is not answered with -32602.",
		Source: pageTasks + "#task-creation",
		Fix:    "Store the task before answering.",
		New:    tasksKnown,
	},
	{
		ID: "ext-11", Class: "should", In: "E", Side: "client", Transport: "any",
		Text:   "tasks/get requests for a task are at least pollIntervalMs apart; 10 % less is tolerated for clocks.",
		Source: pageTasks + "#task-polling",
		Fix:    "Honour the latest pollIntervalMs.",
		New:    tasksPolled,
	},
	{
		ID: "ext-12", Class: "should", In: "E", Side: "server", Transport: "any",
		Text:   "A terminal task status never changes.",
		Source: pageTasks + "#task-status",
		Fix:    "Freeze the task once it is terminal.",
		New: func(*Session) Hooks {
			final := bounded.Map[string, string]{Max: maxRequests} // statuses by task
			return Hooks{On: []string{"result tasks/get", "notification notifications/tasks"}, Message: func(m *Message, v *Verdict) {
				task, path := m.Outcome(), "$.result.status"
				if m.Kind == jsonrpc.Notification {
					task, path = m.Parameters(), "$.params.status"
				}
				id, status := task.Get("taskId").Decoded(), task.Get("status").Decoded()
				if before, ok := final.Get(id); ok && status != "" {
					v.Check(status == before, "status", path, status+" after "+before)
				} else if slices.Contains([]string{"completed", "failed", "cancelled"}, status) && len(id) <= jsonrpc.MaxSubject {
					final.Put(id, strings.Clone(status))
				}
			}}
		},
	},
}

// declaresTasks reports whether a request declares the tasks extension.
func declaresTasks(params jsonrpc.Value) bool {
	return params.Get("_meta", jsonrpc.MetaPrefix+"clientCapabilities", "extensions", tasksExtension) != nil
}

// missingTaskField returns the first field of a task that is missing or has the wrong type,
// or "".
func missingTaskField(task jsonrpc.Value) string {
	for _, name := range []string{"taskId", "status", "createdAt", "lastUpdatedAt"} {
		if task.Get(name).Class() != '"' {
			return name
		}
	}
	if ttl := task.Get("ttlMs"); ttl.Class() != 'n' && !isInteger(ttl) {
		return "ttlMs"
	}
	return ""
}

// tasksKnown judges ext-10.
func tasksKnown(*Session) Hooks {
	fresh := bounded.Map[string, time.Duration]{Max: maxRequests} // the time until which a task must be known
	return Hooks{
		Watch: func(m *Message) {
			switch {
			case m.Kind == jsonrpc.Response && m.ResultType == "task":
				id, until := m.Member("taskId").Decoded(), time.Duration(1<<62)
				if ms, ok := number(m.Member("ttlMs")); ok && ms < 1e12 {
					until = m.Entry.Frame.At + time.Duration(ms)*time.Millisecond
				}
				if id != "" && len(id) <= jsonrpc.MaxSubject {
					fresh.Put(strings.Clone(id), until)
				}
			case m.Kind == jsonrpc.Request && m.Method == "tasks/cancel":
				fresh.Delete(m.Param("taskId").Decoded())
			}
		},
		On: []string{"result tasks/get", "error tasks/get"},
		Message: func(m *Message, v *Verdict) {
			id := m.Request.Param("taskId").Decoded()
			until, ok := fresh.Get(id)
			if fresh.Delete(id); ok && m.Entry.Frame.At < until {
				v.Check(m.ErrorCode != "-32602", "tasks/get", "$.error.code", "the task is not known: "+m.ErrorCode)
			}
		},
	}
}

// tasksPolled judges ext-11.
func tasksPolled(*Session) Hooks {
	interval := bounded.Map[string, time.Duration]{Max: maxRequests} // by task
	last := bounded.Map[string, time.Duration]{Max: maxRequests}     // last request, by task
	return Hooks{
		Watch: func(m *Message) {
			id, every := m.Member("taskId").Decoded(), m.Member("pollIntervalMs")
			if every == nil {
				return
			}
			if ms, err := strconv.ParseUint(string(every), 10, 31); m.Kind == jsonrpc.Response && m.Lane == tap.ToClient && err == nil && len(id) <= jsonrpc.MaxSubject {
				interval.Put(strings.Clone(id), time.Duration(ms)*time.Millisecond)
			}
		},
		On: []string{"request tasks/get"},
		Message: func(m *Message, v *Verdict) {
			id, now := m.Param("taskId").Decoded(), m.Entry.Frame.At
			want, ok := interval.Get(id)
			if before, again := last.Get(id); ok && again {
				wait := now - before
				v.Check(wait >= want*9/10, "tasks/get", "$.method", fmt.Sprintf("%v instead of %v", wait.Round(time.Millisecond), want))
			}
			if len(id) <= jsonrpc.MaxSubject {
				last.Put(strings.Clone(id), now)
			}
		},
	}
}
