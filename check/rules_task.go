package check

import (
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/bounded"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
	"github.com/mcptap/mcptap/tap/session"
)

// rulesTask are about tasks of 2025-11-25.
var rulesTask = []Rule{
	{
		ID: "task-01", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "A taskId is a string, unique among the tasks of the side that runs them.",
		Source: "D:basic/utilities/tasks#task-id-requirements",
		Fix:    "Use a UUID.",
		New: func(*Session) Hooks {
			made := bounded.Map[taskKey, session.Ref]{Max: maxKnown}
			return Hooks{On: onTaskMade, Message: func(m *Message, v *Verdict) {
				task := madeTask(m)
				if task == nil {
					return
				}
				id := task.Get("taskId")
				if id == nil {
					return // see task-02
				}
				v.clean(func() {
					if !v.want(id, aString, m.Request.Method, "$.result.task.taskId") {
						return
					}
					key := taskOf(m.Lane, id)
					if first, ok := made.Get(key); ok && first != m.Part.Request {
						v.Violate(m.Request.Method, "$.result.task.taskId", "that of an earlier task: "+string(id))
					}
					made.Put(key, m.Part.Request)
				})
			}}
		},
	},
	{
		ID: "task-02", Class: "must", In: "D", Side: "both", Transport: "any",
		Text: "A request with task is answered with a task that has taskId, status, createdAt, lastUpdatedAt and ttl, if the side that answers has declared " +
			"tasks for it. A first status other than working is an observation.",
		Source: "D:basic/utilities/tasks#result-retrieval, #task-status-lifecycle, #task-support-and-handling; schema CreateTaskResult",
		Fix:    "Return CreateTaskResult immediately.",
		New:    each(createdTask, onTaskMade...),
	},
	{
		ID: "task-03", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "A terminal status (completed, failed, cancelled) of a task never changes.",
		Source: "D:basic/utilities/tasks#task-status-lifecycle",
		Fix:    "Freeze the task once it is terminal.",
		New:    terminalStays,
	},
	{
		ID: "task-04", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "createdAt and lastUpdatedAt of a task are dates with times in ISO 8601; ttl is an integer or null.",
		Source: "D:basic/utilities/tasks#ttl-and-resource-management; schema Task",
		Fix:    "Write RFC 3339 timestamps and always include ttl.",
		New: each(func(m *Message, v *Verdict) {
			for path, task := range reportedTasks(m) {
				v.clean(func() { taskTimes(v, task, m.about(), path) })
			}
		}, onTasks...),
	},
	{
		ID: "task-05", Class: "must", In: "D", Side: "both", Transport: "any",
		Text: "tasks/result is answered once the task is terminal, with the taskId under io.modelcontextprotocol/related-task in _meta. " +
			"A later tasks/get shows whether it was terminal.",
		Source: "D:basic/utilities/tasks#result-retrieval, #related-task-metadata",
		Fix:    "Block until the task is terminal and add the metadata.",
		New: func(*Session) Hooks {
			answered := bounded.Map[taskKey, uint64]{Max: maxKnown} // the frame of the result
			return Hooks{On: []string{"result tasks/result", "result tasks/get"}, Message: func(m *Message, v *Verdict) {
				id := m.Request.Param("taskId")
				key := taskOf(m.Lane, id)
				switch {
				case key.id == "" || !m.Outcome().IsObject():
				case m.Request.Method == "tasks/result":
					answered.Put(key, m.Entry.Frame.Seq)
					got := relatedTask(m.Outcome())
					v.Check(keyOf(got) == keyOf(id), "tasks/result", "$.result._meta", "not the taskId of the request: "+describe(got))
				default:
					frame, ok := answered.Get(key)
					if status := m.Member("status").Decoded(); ok && status != "" && m.Request.Ref.Seq > frame {
						v.Check(isTerminal(status), "tasks/get", "$.result.status", status+" after the result")
					}
				}
			}}
		},
	},
	{
		ID: "task-06", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "The result of a request that carries io.modelcontextprotocol/related-task carries the same taskId.",
		Source: "D:basic/utilities/tasks#associating-task-related-messages, #input-required-status",
		Fix:    "Copy related-task from the request to the result.",
		New: each(func(m *Message, v *Verdict) {
			if m.Request == nil || strings.HasPrefix(m.Request.Method, "tasks/") || !m.final() {
				return // if the request becomes a task, that has its own id
			}
			if want := relatedTask(m.Request.Params); want != nil && m.Member("task") == nil { // a created task has its own id
				got := relatedTask(m.Outcome())
				v.Check(keyOf(got) == keyOf(want), m.Request.Method, "$.result._meta", "not the taskId of the request: "+describe(got))
			}
		}, "result"),
	},
	{
		ID: "task-07", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "A tasks/cancel of a terminal task is answered with the error -32602, otherwise with the status cancelled.",
		Source: "D:basic/utilities/tasks#task-cancellation; schema CancelTaskResult",
		Fix:    "Check the status first.",
		New:    cancelledTask,
	},
	{
		ID: "task-08", Class: "must", In: "D", Side: "both", Transport: "any",
		Text:   "An unknown taskId is answered with the error -32602. This is judged by the text of the error.",
		Source: "D:basic/utilities/tasks#protocol-errors",
		Fix:    "Return -32602.",
		New: each(func(m *Message, v *Verdict) {
			switch {
			case m.ErrorCode == "-32602":
				v.Hold()
			case m.ErrorCode != "-32601" && isUnknownTask.MatchString(m.ErrorMessage):
				v.Violate(m.Request.Method, "$.error.code", m.ErrorCode+" instead of -32602")
			default:
				v.Skip("whether the task exists is not known")
			}
		}, "error tasks/get", "error tasks/cancel"),
	},
	{
		ID: "task-09", Class: "should", In: "D", Side: "both", Transport: "any",
		Text:   "tasks/get requests for a task are at least pollInterval apart; 10 % less is tolerated.",
		Source: "D:basic/utilities/tasks#getting-tasks, #ttl-and-resource-management",
		Fix:    "Honour the latest pollInterval.",
		New:    polling,
	},
	{
		ID: "task-10", Class: "should", In: "D", Side: "both", Transport: "any",
		Text: "tasks/get, tasks/result and tasks/cancel requests, the results of tasks/get, tasks/list and tasks/cancel, and notifications/tasks/status " +
			"carry no io.modelcontextprotocol/related-task.",
		Source: "D:basic/utilities/tasks#associating-task-related-messages, #task-notifications",
		Fix:    "Leave the metadata out: the taskId is in the message.",
		New: each(func(m *Message, v *Verdict) {
			value := m.Parameters()
			if m.Request != nil {
				value = m.Outcome()
			}
			related := value.Get("_meta", jsonrpc.MetaPrefix+"related-task")
			v.CheckValue(related == nil, m.about(), m.root()+"._meta", "related-task", related)
		}, "request tasks/get", "request tasks/result", "request tasks/cancel", "result tasks/get", "result tasks/list", "result tasks/cancel",
			"notification notifications/tasks/status"),
	},
}

// A taskKey identifies a task: the lane on which the side that runs it sends, and a key for its
// id, "" if there is none.
type taskKey struct {
	lane tap.Lane
	id   string
}

func taskOf(lane tap.Lane, id jsonrpc.Value) taskKey {
	return taskKey{lane, keyOf(id)}
}

// onTaskMade selects the results that may create a task, and onTasks also the messages that
// describe tasks.
var (
	onTaskMade = []string{"result tools/call", "result sampling/createMessage", "result elicitation/create"}
	onTasks    = append([]string{"result tasks/get", "result tasks/cancel", "result tasks/list", "notification notifications/tasks/status"}, onTaskMade...)
)

// madeTask returns the task that a result creates, nil if it does not.
func madeTask(m *Message) jsonrpc.Value {
	if task := m.Member("task"); task.IsObject() && m.Request.Param("task") != nil {
		return task
	}
	return nil
}

// reportedTasks yields the tasks that a message describes, with their paths.
func reportedTasks(m *Message) iter.Seq2[string, jsonrpc.Value] {
	return func(yield func(string, jsonrpc.Value) bool) {
		switch {
		case m.Kind == jsonrpc.Response && !m.Outcome().IsObject():
		case m.Request == nil:
			yield("$.params", m.Parameters())
		case m.Request.Method == "tasks/list":
			for _, task := range m.Member("tasks").Each {
				if !yield("$.result.tasks[*]", task) {
					return
				}
			}
		case strings.HasPrefix(m.Request.Method, "tasks/"):
			yield("$.result", m.Outcome())
		default:
			if task := madeTask(m); task != nil {
				yield("$.result.task", task)
			}
		}
	}
}

// relatedTask returns the taskId in the metadata of params or a result.
func relatedTask(v jsonrpc.Value) jsonrpc.Value {
	return v.Get("_meta", jsonrpc.MetaPrefix+"related-task", "taskId")
}

// isTerminal reports whether a status of a task is terminal.
func isTerminal(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// createdTask judges task-02.
func createdTask(m *Message, v *Verdict) {
	if m.Request.Param("task") == nil || !m.Outcome().IsObject() {
		return
	}
	task, subject := m.Member("task"), m.Request.Method
	if task == nil {
		capabilities := m.Session.Server
		tool := m.tool()
		support := tool.Get("execution", "taskSupport").Decoded()
		if m.Lane == tap.ToServer {
			capabilities = m.Session.Client
		}
		switch {
		case capabilities == nil || m.Lane == tap.ToClient && tool == nil:
			v.Skip("whether tasks are supported is not known")
		case !declares(capabilities, append([]string{"tasks", "requests"}, strings.Split(subject, "/")...)...):
			v.Hold()
		case m.Lane == tap.ToClient && support != "optional" && support != "required":
			v.Hold() // see cap-11
		default:
			v.Violate(subject, "$.result.task", "missing")
		}
		return
	}
	v.clean(func() {
		if !v.want(task, anObject, subject, "$.result.task") {
			return
		}
		for _, name := range []string{"taskId", "status", "createdAt", "lastUpdatedAt", "ttl"} {
			if task.Get(name) == nil {
				v.Violate(subject, "$.result.task."+name, "missing")
			}
		}
		if status := task.Get("status"); status != nil && status.Decoded() != "working" {
			v.Observe(subject, "$.result.task.status", "the first status is not working: "+string(status))
		}
	})
}

// taskTimes judges task-04.
func taskTimes(v *Verdict, task jsonrpc.Value, subject, path string) {
	made := path == "$.result.task" // see task-02 for what is missing
	for _, name := range []string{"createdAt", "lastUpdatedAt"} {
		value := task.Get(name)
		if made && value == nil || !v.need(value, aString, subject, path+"."+name) {
			continue
		}
		// RFC 3339, which the specification refers to, also allows a space and lower-case letters.
		if !timestamps.MatchString(strings.ToUpper(strings.Replace(value.Decoded(), " ", "T", 1))) && !isMasked(value) {
			v.Violate(subject, path+"."+name, string(value))
		}
	}
	ttl := task.Get("ttl")
	if !(made && ttl == nil) && !isNull(ttl) && !isInteger(ttl) {
		v.Violate(subject, path+".ttl", describe(ttl))
	}
}

// A taskState is the last known state of a task.
type taskState struct {
	status string
	// updated is lastUpdatedAt, zero if it cannot be parsed; frame is the frame of the message.
	updated time.Time
	frame   uint64
}

func stateOf(m *Message, task jsonrpc.Value) taskState {
	updated, _ := time.Parse(time.RFC3339, task.Get("lastUpdatedAt").Decoded()) // zero if invalid
	return taskState{strings.Clone(task.Get("status").Decoded()), updated, m.Entry.Frame.Seq}
}

// terminalStays judges task-03. On stdio notifications arrive in order, but a response may have
// been created before a notification that overtook it.
func terminalStays(s *Session) Hooks {
	ordered := s.Transport == "stdio"
	ended := bounded.Map[taskKey, taskState]{Max: maxKnown}
	return Hooks{On: onTasks, Message: func(m *Message, v *Verdict) {
		for path, task := range reportedTasks(m) {
			key := taskOf(m.Lane, task.Get("taskId"))
			now := stateOf(m, task)
			before, ok := ended.Get(key)
			switch {
			case key.id == "" || now.status == "" || path == "$.result.task":
			case !ok && isTerminal(now.status):
				ended.Put(key, now)
			case !ok:
			case now.status == before.status:
				v.Hold()
			case m.Request != nil && m.Request.Method == "tasks/cancel": // see task-07
			case m.Request != nil && m.Request.Ref.Seq > before.frame, !before.updated.IsZero() && now.updated.After(before.updated),
				ordered && m.Request == nil && (now.updated.IsZero() || !now.updated.Before(before.updated)):
				v.Violate(m.Subject(), path+".status", now.status+" after "+before.status)
			default:
				v.Skip("the order of two messages is not known")
			}
		}
	}}
}

// cancelledTask judges task-07.
func cancelledTask(*Session) Hooks {
	states := bounded.Map[taskKey, taskState]{Max: maxKnown}
	judge := func(m *Message, v *Verdict) {
		state, ok := states.Get(taskOf(m.Lane, m.Request.Param("taskId")))
		ended := ok && isTerminal(state.status) && state.frame < m.Request.Ref.Seq
		switch {
		case m.Kind == jsonrpc.ErrorResponse && ended:
			v.Check(m.ErrorCode == "-32602", "tasks/cancel", "$.error.code", m.ErrorCode+" instead of -32602")
		case m.Kind == jsonrpc.ErrorResponse:
			v.Skip("the status before is not known")
		case ended:
			v.Violate("tasks/cancel", "$.result", "a result although the task was "+state.status)
		default:
			status := m.Member("status")
			v.Check(status.Decoded() == "cancelled", "tasks/cancel", "$.result.status", describe(status))
		}
	}
	return Hooks{On: append([]string{"error tasks/cancel"}, onTasks...), Message: func(m *Message, v *Verdict) {
		if m.Request != nil && m.Request.Method == "tasks/cancel" {
			judge(m, v)
		}
		if m.Kind == jsonrpc.ErrorResponse {
			return
		}
		for _, task := range reportedTasks(m) {
			states.Put(taskOf(m.Lane, task.Get("taskId")), stateOf(m, task))
		}
	}}
}

// isUnknownTask matches the texts of errors about a task that does not exist.
var isUnknownTask = regexp.MustCompile(`(?i)\btask\b.*(?:not found|does ?n[o']t exist|expired|unknown)|unknown task|no such task`)

// polling judges task-09.
func polling(*Session) Hooks {
	type poll struct {
		interval, last time.Duration
		polled         bool
	}
	polls := bounded.Map[taskKey, poll]{Max: maxKnown}
	return Hooks{On: append([]string{"request tasks/get"}, onTasks...), Message: func(m *Message, v *Verdict) {
		at := m.Entry.Frame.At
		if m.Kind == jsonrpc.Request {
			key := taskOf(other(m.Lane), m.Param("taskId"))
			p, ok := polls.Get(key)
			if !ok {
				return
			}
			if p.polled && p.interval > 0 {
				apart := at - p.last
				v.Check(apart >= p.interval/10*9, "tasks/get", "$.params.taskId", "after "+apart.String()+", pollInterval is "+p.interval.String())
			}
			p.last, p.polled = at, true
			polls.Put(key, p)
			return
		}
		for _, task := range reportedTasks(m) {
			key := taskOf(m.Lane, task.Get("taskId"))
			p, _ := polls.Get(key)
			if ms, err := strconv.ParseInt(string(task.Get("pollInterval")), 10, 32); err == nil {
				p.interval = time.Duration(ms) * time.Millisecond
			}
			if m.Kind == jsonrpc.Notification {
				p.polled = false // the client may poll immediately after a change
			}
			polls.Put(key, p)
		}
	}}
}
