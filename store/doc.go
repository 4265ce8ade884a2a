// Package store keeps recordings on disk: one file per run of the tap.
//
// The package loses nothing that the tap has handed over, unless the machine
// loses power, and then only what is younger than one commit. Reading a file of
// any bytes returns frames or an error and never crashes.
//
// # The file
//
// A recording is a bbolt database named <UTC time>-<label>-<id>.mcptap, mode
// 0600. The tap makes it under another name, gives it its own when it is whole, and holds
// it open; after any error it is opened anew. Readers use a page reader of their own and
// take no lock.
//
//	meta                bucket
//	  format            decimal text, FormatVersion
//	  header            tap.Header, JSON
//	  tally             session.Tally, JSON, exact for the frames in the same transaction
//	  state             State, JSON: where writing goes on
//	  end               End, JSON, once nothing will be appended any more
//	frames              bucket
//	  <first seq>       bucket, one a commit, named by its first frame number
//	    <first seq>     a segment of frames
//	parts               bucket
//	  <first part>      bucket, one a commit and frame, named by its first part
//	    <part>          a segment that holds one part of a long frame
//
// Numbers in keys are eight bytes, big-endian. Before each JSON value stands its
// CRC-32C, in four bytes, little-endian. A bucket a commit keeps bbolt
// from rewriting the last leaf, with all its values, at every commit (write
// amplification 1.06 instead of 3). While a session idles, commits are small:
// then the last segment is replaced by a longer one instead, until it reaches
// tailLimit, so that an hour of pings stays a few hundred KiB.
//
// A segment carries its own checksum, because bbolt's pages have none, and its
// own numbers, so that salvage can find it in a file whose pages are broken.
//
// Frames that do not end within a commit, or that exceed tap.PartSize, are
// written as parts as they come; the frame's record, written with its last
// byte, names them. So a commit leaves nothing behind in memory, and the memory
// of the queue can be reused. The frames of HTTP come on many streams at once,
// one a lane of an exchange. The state lists the frames that have begun, with
// their parts.
//
// Format 2 has the form of a frame in its record. Format 1, which had lines
// only, reads the same otherwise.
//
// # The queue
//
// Beside the file, <file>.queue is mapped into the memory of the tap while it
// runs. What crosses is copied there before it is forwarded, and each chunk gets a
// ticket, and a mark if its frame began before it. So a frame whose beginning is in
// neither the queue nor the file, because the file was removed or copied earlier, is
// known to be truncated. A tap killed with SIGKILL leaves the queue; the next reader of the
// recording takes its lock, appends what the last commit had not seen yet, and
// removes it. A queue from before the machine last booted
// is not believed, because its pages may have reached the disk in any order, and
// one of another recording, by its header, stays as it is.
// Where the system has no shared mappings (Windows) the queue is plain memory:
// a killed tap then loses what was younger than 50 ms.
package store
