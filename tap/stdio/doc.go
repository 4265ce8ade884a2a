// Package stdio runs a server as a child process and stands unseen between its
// three standard streams and the client's.
//
// # The law
//
// The client and the server cannot tell, from bytes, their grouping into reads,
// ends of streams, broken pipes, signals or exit statuses, that anything stands
// between them, and nothing that happens to the recording changes that. Every
// byte is handed to the [tap.Recorder] before it is forwarded.
//
// # Bytes
//
// One goroutine a lane reads, records, and writes what one read brought with one
// write: merged writes make SDKs lose the last
// progress notification. Reads and writes are plain blocking system calls.
// Inherited descriptors are never made non-blocking, since that would change
// them for everybody who has them open; one that is non-blocking is polled.
//
// A recorder that panics or faults is used no more, with one warning: see
// [tap.Guard].
//
// # Ends
//
// The end of the client's stdin ends the server's. The end of the server's
// stdout ends the client's, and the tap waits on for the server's status. A
// receiver that goes away is reported to the sender by the same means, one
// write later than it would be without a tap: the first write still goes into
// our pipe. Stderr alone stays open until the tap ends, since the tap may have
// a failure to report there.
//
// When the server has ended and another process still holds its output open,
// exact behaviour would need the tap to end and to go on at once: the client
// must learn the status, and may still be sent output. The tap forwards all
// that was written until the server's end, then whatever follows without a
// pause of 100 ms, then ends. A client that reads slowly is waited for, unless
// the tap itself is told to end by a signal, as there is no server left to take
// it.
//
// A client that does not read at all is waited for as well, with one exception.
// When the server was asked to end (SIGHUP, SIGINT, SIGQUIT or SIGTERM was
// forwarded in its last 10 seconds, or one of them or SIGKILL ended it), whoever
// asked waits for a process that without a tap would be gone. Then the tap ends
// once a write to the client has not been finished for a second. A write has 64
// KiB at most. What the client did not take would
// without a tap not have been written: the server would have waited for the
// client in its own write. What the tap has read of it stays recorded, and so
// does that it was not delivered.
//
// # Signals and process groups
//
// What is sent to the tap's pid is sent on once. What is sent to a process
// group must reach the server once and as directly as without a tap, and a
// server that asks for a passphrase on /dev/tty must be in the group that it
// would have been in. So a tap that is a plain member of a group, as most
// clients start it, leaves that group to the server and moves into one of its
// own; it then sees only what is sent to its own pid, and passes it to the
// server's. (The plan was to move the server in all cases and to tell what came
// from the terminal by who is in the foreground; that misses signals to the
// client's group and breaks prompts on the terminal.)
//
// A tap that leads its group (a shell's job, a Python SDK client) cannot leave
// it, and one whose stdin is the terminal must not. Then the server gets a group
// of its own, and each signal is sent to the whole of it: those who make a group
// signal the group. SIGTSTP stops the tap once the server has really stopped.
// What remains different: in this case a server that itself reads the terminal
// is stopped by SIGTTIN, a signal to the tap's pid alone reaches the server's
// children too, and a SIGKILL to the group reaches the server but not its
// children. A signal to the group within the millisecond of the server's start
// can be seen twice. What asks a server to end that was stopped in this way makes
// it go on as well, or the keys for that would be without effect.
//
// A shell's background job whose stdin is the terminal is stopped by SIGTTIN as
// soon as the tap reads, which is at once, and not when the server does; its
// server runs on, but nobody forwards what it says until the job comes to the
// foreground. To keep this right the tap would have to know whether somebody
// waits at the other end of a pipe. To read only in the foreground would be
// cheap and no closer: a server that reads would then never be stopped, and the
// shell not told.
//
// Forwarded are the signals that one process sends to another: SIGHUP, SIGINT,
// SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGTSTP, SIGCONT and
// SIGWINCH. Not forwarded is SIGURG, which the Go runtime sends to itself all
// the time to interrupt goroutines; a server that has use for it must be sent it
// directly. Nor are those by which the kernel tells a process about itself or
// its own doings (SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU, SIGXCPU, SIGPROF, faults),
// and those that no client has been seen to send (SIGIO, SIGPWR, real-time).
//
// SIGHUP, SIGINT and (on Linux) SIGTSTP stay ignored where they were. For other
// signals the Go runtime overwrites that before any of our code runs. It also
// unblocks SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGTERM, SIGCHLD and SIGURG.
//
// A signal that comes before the tap catches any, which it does while the server
// is being started, meets the Go runtime. SIGHUP, SIGINT and SIGTERM end the tap
// and with it a server that is there already, as they would have ended a server
// that had no time to prepare; SIGUSR1, SIGUSR2 and SIGALRM may be lost, and
// SIGQUIT and SIGABRT print a trace. To catch them before the server is started
// would cost every start a part of a millisecond.
//
// # What the server inherits
//
// Arguments, environment, directory, umask, limits, other blocked signals and
// descriptors from 3 up, as without a tap. Of an environment variable that
// occurs twice the first is kept, which is the one that getenv finds. Its three
// standard streams are pipes whatever the client's are.
//
// # Other systems
//
// A tap that is killed takes the server along on Linux, FreeBSD and Windows
// (a job object). On macOS and the other BSDs the server is left with the end
// of its stdin. There, pipes keep their default size, and between the server's
// end and its reaping a signal could in theory meet another process.
//
// On Windows no signals are forwarded: Ctrl-C reaches everybody on the console
// by itself, and the tap waits for what the server makes of it. Commands are
// found as package os/exec finds them.
package stdio
