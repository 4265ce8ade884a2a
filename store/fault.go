package store

import (
	"fmt"
)

// The queue is mapped, so touching it is a fault where its file was cut short
// by another program, where the disk behind it fails, or where a file system
// has promised room that it does not have. That ends the recording and not the
// tap. What is forwarded while it happens may be lost with the memory.
//
// A fault is only a panic, which can be caught, on a goroutine that has asked
// for it with [debug.SetPanicOnFault]: a tap does so on each that records.

// catch is deferred around what touches the queue's memory.
func (r *Recorder) catch() {
	v := recover()
	if v == nil {
		return
	}
	r.q.giveUp()
	if _, fault := v.(interface{ Addr() uintptr }); fault {
		v = "it was cut short, or its disk fails" // what the runtime says of it helps nobody
	}
	r.warn(fmt.Errorf("%s cannot be used any more: %v", r.db.path+QueueExt, v))
}

// giveUp says that the queue's memory must not be touched any more. What
// crosses from here on is not even counted.
func (q *queue) giveUp() {
	q.mu.Lock()
	q.dead, q.failing = true, true
	q.space.Broadcast()
	q.wakeWriter()
	q.mu.Unlock()
}

// gaveUp reports whether giveUp was called.
func (q *queue) gaveUp() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dead
}
