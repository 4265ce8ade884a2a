package session

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// created takes a CreateTaskResult (2025-11-25 basic/utilities/tasks, and the
// tasks extension, where it is flat) and reports whether it is one.
func (t *Pairing) created(x *arrival, a *openRequest) bool {
	c := a.call
	w := readResult(x.m.Result)
	extension := x.m.ResultType == "task"
	if !extension {
		w = readResult(w.task)
	}
	key := word(wordTask, c.Lane, w.taskID)
	if key == "" && !(extension && x.m.Unread) {
		return false
	}
	t.give(x, c, RoleInterim)
	t.outlives(c)
	c.holder, c.extension = a, extension
	t.name(c, &c.taskKey, key)
	c.Status, c.TaskID = CallWorking, wordText(w.taskID)
	if a.causing != nil {
		a.causing.remove(a)
		t.causes(a, &t.tasks)
	}
	c.progressed(x, w.status, w.statusMessage)
	return true
}

// progressed takes what a task's status is said to be.
func (c *callState) progressed(x *arrival, status, message jsonrpc.Value) {
	if status == nil {
		return
	}
	c.TaskStatus = wordText(status)
	switch c.TaskStatus {
	case "working":
		c.goesOn(CallWorking)
	case "input_required":
		c.goesOn(CallInputRequired)
	case "completed":
		if c.endsOn(x, CallDone) && c.CancelledBy != tap.Lifecycle {
			c.settleLate(x, CallDone)
		}
	case "failed":
		if c.endsOn(x, CallToolError) {
			c.ErrorText = wordText(message)
		}
	case "cancelled":
		if c.Status == CallError && c.CancelledBy != tap.Lifecycle {
			c.Status = CallCancelled // the error was a way to say so
		}
		c.endsOn(x, CallCancelled)
	}
}

// taskEnded reports whether a task's status is one of those that it ends with.
func taskEnded(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// taskAnswered takes the answer to a tasks request.
func (t *Pairing) taskAnswered(x *arrival, a *openRequest) {
	c := a.call
	switch {
	case a.cancelled:
		x.part.Late = true
		t.give(x, c, RoleLate)
	case a.purpose == asksResult:
		t.taskResult(x, c)
	case a.purpose == asksCancel && x.m.Kind == jsonrpc.ErrorResponse:
		t.give(x, c, RoleInterim)
		c.uncancel()
	case x.m.Kind == jsonrpc.ErrorResponse || a.purpose == asksUpdate:
		t.give(x, c, RoleInterim)
	default:
		t.taskState(x, c)
	}
}

// taskResult takes the answer to tasks/result, which is the one that the call
// would have had without a task.
func (t *Pairing) taskResult(x *arrival, c *callState) {
	if c.CancelledBy != tap.Lifecycle && x.m.Kind == jsonrpc.Response {
		x.part.Late = true
		t.give(x, c, RoleLate)
		c.Status = CallCancelled // as conclude wants it
		t.conclude(x, c)
		return
	}
	t.give(x, c, RoleResponse)
	if c.Status == CallCancelled { // the error only reports that
		c.ErrorCode, c.ErrorText = x.m.ErrorCode, x.m.ErrorMessage
		c.settle(x, CallCancelled)
		c.final = true
		return
	}
	t.conclude(x, c)
}

// taskState takes the answer to tasks/get or tasks/cancel: a task, in the
// extension with its result.
func (t *Pairing) taskState(x *arrival, c *callState) {
	w := readResult(x.m.Result)
	role := RoleInterim
	if c.extension && x.m.Unread {
		// Too large to be read, so most likely it brings the result.
		x.part.Guess = true
		t.give(x, c, RoleResponse)
		c.endsOn(x, CallDone)
		return
	}
	if status := wordText(w.status); c.extension && taskEnded(status) {
		role = RoleResponse
		if c.CancelledBy != tap.Lifecycle && status != "cancelled" {
			role, x.part.Late = RoleLate, true
		}
	}
	t.give(x, c, role)
	c.news(x, w.status, w.statusMessage, w.inputs, w.result, w.err)
	if role != RoleInterim {
		c.final = true
	}
}

// news takes what is said of a task, in the extension with what it asks for or
// ended with.
func (c *callState) news(x *arrival, status, message, inputs, result, err jsonrpc.Value) {
	c.progressed(x, status, message)
	if !c.extension {
		return
	}
	c.embed(x, inputs)
	switch {
	case c.TaskStatus == "completed" && result.Get("isError").IsTrue():
		c.ErrorText = jsonrpc.Bound(jsonrpc.AboutResult(result))
		switch c.Status {
		case CallDone:
			c.Status = CallToolError
		case CallCancelledLate:
			c.instead = CallToolError
		}
	case c.TaskStatus == "failed" && err != nil:
		c.ErrorCode, c.ErrorText = wordText(err.Get("code")), wordText(err.Get("message"))
		if c.Status == CallToolError {
			c.Status = CallError
		}
	}
}

// taskNews takes notifications/tasks/status and notifications/tasks.
func (t *Pairing) taskNews(x *arrival, w *callWords) bool {
	key := word(wordTask, opposite(x.f.Lane), w.taskID)
	tasks := t.calls.of(key)
	c := tasks.newest()
	if c == nil {
		past := t.past.At(key)
		if past != nil {
			x.part.Late = true
			t.recall(x, past, RoleNotification)
		}
		return past != nil
	}
	x.part.Guess = len(tasks.items) > 1
	t.give(x, c, RoleNotification)
	c.news(x, w.status, w.statusMessage,
		w.whole.Get("inputRequests"), w.whole.Get("result"), w.whole.Get("error"))
	t.rest(c)
	return true
}
