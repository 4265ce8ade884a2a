// Package store keeps recordings on disk: one file per run of the tap.
//
// Everything that the tap has passed to the package is kept, unless the machine loses
// power: then everything younger than one commit is lost. Reading any file returns frames
// or an error and never crashes.
//
// # The file
//
// A recording is a bbolt database named <UTC time>-<label>-<id>.mcptap, mode 0600. The
// tap creates it under another name, renames it when it is complete, and keeps it open;
// after any error it is reopened. Readers have a page reader of their own and take no
// lock.
//
//	meta                bucket
//	  format            decimal text, FormatVersion
//	  header            tap.Header, JSON
//	  tally             session.Tally, JSON, exact for the frames in the same transaction
//	  state             State, JSON: where writing continues
//	  end               End, JSON, once the recording is finished
//	frames              bucket
//	  <first seq>       bucket, one per commit, named by its first frame number
//	    <first seq>     a segment of frames
//	parts               bucket
//	  <first part>      bucket, one per commit and frame, named by its first part
//	    <part>          a segment with one part of a long frame
//
// Numbers in keys are eight bytes, big-endian. Each JSON value follows its CRC-32C, in
// four bytes, little-endian. One bucket per commit keeps bbolt from rewriting the last
// leaf, with all its values, at every commit (write amplification 1.06 instead of 3).
// While a session is idle, commits are small: then the last segment is replaced by a
// longer one until it reaches tailLimit, so that an hour of pings takes a few hundred KiB.
//
// A segment has its own checksum, because bbolt's pages have none, and its own numbers,
// so that salvage can find it in a file with broken pages.
//
// Frames that do not end within a commit, or that exceed tap.PartSize, are written as
// parts while they arrive. The frame's record, written with its last byte, names them.
// So a commit leaves nothing in memory, and the memory of the queue can be reused. HTTP
// frames arrive on many streams at once, one per lane of an exchange. The state lists the
// incomplete frames with their parts.
//
// Format 2 has the form of a frame in its record. Format 1 had lines only, and is
// otherwise the same.
//
// # The queue
//
// While the tap runs, <file>.queue is mapped into its memory. Traffic is copied there
// before it is forwarded. Each chunk gets a ticket, and a mark if its frame began before
// it. So a frame whose beginning is in neither the queue nor the file, because the file
// was removed or copied earlier, is known to be truncated. A tap killed with SIGKILL
// leaves the queue. The next reader of the recording takes its lock, appends the chunks
// that were not committed, and removes it. A queue from before the last boot of the
// machine is not trusted, because its pages may have reached the disk in any order. A
// queue whose header is that of another recording is left unchanged. On systems without
// shared mappings (Windows) the queue is plain memory: a killed tap loses everything
// younger than 50 ms.
package store
