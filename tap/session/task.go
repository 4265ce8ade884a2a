package session

import (
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/jsonrpc"
)

// created handles a CreateTaskResult (2025-11-25 basic/utilities/tasks, and the
// tasks extension, where it is flat) and reports whether it is one.
func (t *Pairing) created(x *arrival, a *request) bool {
	c := a.call
	w := readFields(x.m.Result)
	extension := x.m.ResultType == "task"
	if !extension {
		w = readFields(w["task"])
	}
	key := word(wordTask, c.Lane, w["taskId"])
	if key == "" && !(extension && x.m.Unread) {
		return false
	}
	t.give(x, c, RoleInterim)
	c.holder, c.extension = a, extension
	t.name(c.first, wordTask, key)
	c.Status, c.TaskID = CallWorking, wordText(w["taskId"])
	c.progressed(x, w["status"], w["statusMessage"])
	return true
}

// progressed handles the status of a task.
func (c *call) progressed(x *arrival, status, message jsonrpc.Value) {
	if status == nil {
		return
	}
	c.TaskStatus = wordText(status)
	switch c.TaskStatus {
	case "working":
		c.advance(CallWorking)
	case "input_required":
		c.advance(CallInputRequired)
	case "completed":
		if c.settleOnce(x, CallDone) && c.CancelledBy != tap.Lifecycle {
			c.settleLate(x, CallDone)
		}
	case "failed":
		if c.settleOnce(x, CallToolError) {
			c.ErrorText = wordText(message)
		}
	case "cancelled":
		if c.Status == CallError && c.CancelledBy != tap.Lifecycle {
			c.Status = CallCancelled // the error only reported that
		}
		c.settleOnce(x, CallCancelled)
	}
}

// taskEnded reports whether a task's status is final.
func taskEnded(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// taskAnswered handles the answer to a tasks request.
func (t *Pairing) taskAnswered(x *arrival, a *request) {
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

// taskResult handles the answer to tasks/result, which is the one that the call
// would have had without a task.
func (t *Pairing) taskResult(x *arrival, c *call) {
	if c.CancelledBy != tap.Lifecycle && x.m.Kind == jsonrpc.Response {
		x.part.Late = true
		t.give(x, c, RoleLate)
		c.Status = CallCancelled // as conclude requires
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

// taskState handles the answer to tasks/get or tasks/cancel: a task, in the
// extension with its result.
func (t *Pairing) taskState(x *arrival, c *call) {
	w := readFields(x.m.Result)
	role := RoleInterim
	if c.extension && x.m.Unread {
		// Too large to be read, so most likely it carries the result.
		x.part.Guess = true
		t.give(x, c, RoleResponse)
		c.settleOnce(x, CallDone)
		return
	}
	if status := wordText(w["status"]); c.extension && taskEnded(status) {
		role = RoleResponse
		if c.CancelledBy != tap.Lifecycle && status != "cancelled" {
			role, x.part.Late = RoleLate, true
		}
	}
	t.give(x, c, role)
	c.update(x, w)
	if role != RoleInterim {
		c.final = true
	}
}

// update handles the status of a task, in the extension with the input that it requires or
// its result.
func (c *call) update(x *arrival, w fields) {
	c.progressed(x, w["status"], w["statusMessage"])
	if !c.extension {
		return
	}
	c.embed(x, w["inputRequests"])
	switch {
	case c.TaskStatus == "completed" && w["result"].Get("isError").IsTrue():
		c.ErrorText = jsonrpc.Bound(jsonrpc.AboutResult(w["result"]))
		switch c.Status {
		case CallDone:
			c.Status = CallToolError
		case CallCancelledLate:
			c.instead = CallToolError
		}
	case c.TaskStatus == "failed" && w["error"] != nil:
		c.ErrorCode, c.ErrorText = wordText(w["error"].Get("code")), wordText(w["error"].Get("message"))
		if c.Status == CallToolError {
			c.Status = CallError
		}
	}
}

// taskNotification handles notifications/tasks/status and notifications/tasks.
func (t *Pairing) taskNotification(x *arrival, w fields) bool {
	key := word(wordTask, opposite(x.f.Lane), w["taskId"])
	tasks := t.words[key]
	c := tasks.newestCall()
	if c == nil {
		return t.aboutPast(x, key, RoleNotification)
	}
	x.part.Guess = len(tasks) > 1
	t.give(x, c, RoleNotification)
	c.update(x, w)
	t.rest(c)
	return true
}
