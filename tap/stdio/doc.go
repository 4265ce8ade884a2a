// Package stdio runs a server as a child process and forwards between its three standard
// streams and the client's.
//
// # The law
//
// From bytes, their grouping into reads, ends of streams, broken pipes, signals and exit
// statuses, neither the client nor the server can tell that there is a tap, and nothing
// that happens to the recording changes that. Every byte is handed to the [tap.Recorder]
// before it is forwarded.
//
// # Bytes
//
// One goroutine per lane reads, records, and writes with one write what one read returned:
// merged writes make SDKs lose the last progress notification. Reads and writes are
// blocking system calls. Inherited descriptors are never made non-blocking, since that
// would change them for every process that has them open; if one is non-blocking, the tap
// polls it.
//
// A recorder that panics or faults is not used again, with one warning: see [tap.Guard].
//
// # Ends
//
// The end of the client's stdin ends the server's. The end of the server's stdout ends the
// client's, and the tap waits for the server's status. If a receiver goes away, the sender
// finds out in the same way as without a tap, but one write later: the first write still
// goes into our pipe. Stderr stays open until the tap ends, since the tap may have to
// report a failure there.
//
// When the server has ended and another process still holds its output open, the tap would
// have to end, as the client must learn the status, and to continue, as there may be more
// output. It forwards all that was written until the server's end, then what follows
// without a pause of 100 ms, then ends. It waits for a client that reads slowly, unless a
// signal asks the tap to end.
//
// It also waits for a client that does not read at all, with one exception: if the server
// was asked to end (by a SIGHUP, SIGINT, SIGQUIT or SIGTERM that was forwarded in its last
// 10 seconds, or because one of them or SIGKILL ended it), the tap ends once a write to the
// client has taken longer than a second. Without a tap the process would be gone, and the
// server would have waited in its own write. What the tap has read stays recorded, and so
// does the fact that it was not delivered. A write is at most 64 KiB.
//
// # Signals and process groups
//
// A signal to the tap's pid is forwarded once. A signal to a process group must reach the
// server once and as directly as without a tap, and a server that asks for a passphrase on
// /dev/tty must be in the group in which it would be without a tap. So a tap that is a
// plain member of a group, as with most clients, leaves that group to the server and moves
// to a group of its own. It then receives only what is sent to its own pid, and forwards it
// to the server's.
//
// A tap that leads its group (a job of a shell, a Python SDK client) cannot leave it, and
// one whose stdin is the terminal must not. Then the server gets a group of its own, and
// each signal is sent to the whole of it: clients that make a group signal the group.
// SIGTSTP stops the tap once the server has stopped. These differences remain: a server
// that reads the terminal itself is stopped by SIGTTIN; a signal to the tap's pid alone
// reaches the server's children too; a SIGKILL to the group reaches the server but not its
// children; and a signal to the group within a millisecond of the server's start can be
// received twice. A signal to end continues a server that was stopped in this way, or it
// would have no effect.
//
// A background job whose stdin is the terminal is stopped by SIGTTIN as soon as the tap
// reads, that is, immediately, and not when the server reads. Its server continues, but its
// output is not forwarded until the job is in the foreground.
//
// The tap forwards the signals that one process sends to another: SIGHUP, SIGINT, SIGQUIT,
// SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGTSTP, SIGCONT and SIGWINCH. It does not
// forward SIGURG, with which the Go runtime preempts goroutines, those that the kernel
// sends to a process about itself (SIGCHLD, SIGPIPE, SIGTTIN, SIGTTOU, SIGXCPU, SIGPROF,
// faults), and those that no known client sends (SIGIO, SIGPWR, real-time signals).
//
// SIGHUP, SIGINT and (on Linux) SIGTSTP stay ignored if they were. For other signals the Go
// runtime changes that before any of our code runs. It also unblocks SIGHUP, SIGINT,
// SIGQUIT, SIGABRT, SIGTERM, SIGCHLD and SIGURG.
//
// The tap begins to catch signals while the server is being started. Before that the Go
// runtime handles them: SIGHUP, SIGINT and SIGTERM end the tap and a server that is already
// running; SIGUSR1, SIGUSR2 and SIGALRM may be lost; SIGQUIT and SIGABRT print a trace. To
// catch them earlier would delay every start by a part of a millisecond.
//
// # What the server inherits
//
// Arguments, environment, directory, umask, limits, other blocked signals and descriptors
// from 3 up, as without a tap. If an environment variable occurs twice, only the first is
// kept, which is the one that getenv finds. The server's three standard streams are pipes,
// whatever the client's are.
//
// # Other systems
//
// On Linux, FreeBSD and Windows (with a job object) the server is killed when the tap is.
// On macOS and the other BSDs it sees the end of its stdin. There, pipes keep their default
// size, and between the server's end and its reaping a signal could in theory reach another
// process.
//
// On Windows no signals are forwarded: Ctrl-C reaches every process on the console, and the
// tap waits for the server. Commands are found as package os/exec does.
package stdio
