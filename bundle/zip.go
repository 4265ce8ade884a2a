// Package bundle writes and reads bundles for bug reports: zip files with a recording, a
// self-contained page that shows it, and a summary in Markdown. The package is pure: the caller
// opens the files, and removes secrets from the recording first.
//
// A bundle has at most the four files of [Names], each once. [Open] refuses other names, and thus
// all paths; links and directories; encrypted files; and duplicate names. It reads at most 16 KiB
// of the directory, and [Bundle.Unpack] limits the bytes that it writes, whatever sizes the bundle
// claims.
//
// [WriteSummary] reads a recording once, and then the frames that it quotes. Its memory is
// bounded except for open calls. Recorded text is in code spans, and in blocks with fences
// longer than any in the text, with invisible characters escaped: it cannot become markup,
// mention people, or refer to other issues.
package bundle

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcptap/mcptap/internal/term/escape"
)

// The files of a bundle.
const (
	Readme    = "README.txt"
	Summary   = "summary.md"
	Page      = "page.html"
	Recording = "recording.mcptap"
)

// Names returns the names of the files in a bundle, in order.
func Names() []string { return []string{Readme, Summary, Page, Recording} }

// MaxSize is the maximum size of a bundle, and of each file in it. Larger ones need another form of
// zip file, which Open does not read.
const MaxSize = math.MaxUint32 - 1

const (
	// endSize is the size of the end record of a zip file without a comment, and endMark its
	// signature (APPNOTE 4.3.16).
	endSize = 22
	endMark = 0x06054b50
	// maxEntries limits the files in a bundle, and maxDirectory the size of its directory, which
	// takes about a hundred bytes per file. maxEntries is below 65535, a value that makes package
	// zip read another record, with unchecked numbers.
	maxEntries   = 16
	maxDirectory = 16 << 10
	// encrypted is the flag of an encrypted file (APPNOTE 4.4.4).
	encrypted = 1
	// maxName limits the bytes of a name that an error quotes.
	maxName = 100
)

var (
	// ErrNotBundle means that the file is not a complete zip file.
	ErrNotBundle = errors.New("not a complete zip file")
	// ErrTooLarge means that the file exceeds the limit of the caller or the format.
	ErrTooLarge = errors.New("too large")

	errFormat = fmt.Errorf("%w for a bundle (at most 4 GiB)", ErrTooLarge)
)

// A Part is a file for a bundle: one of [Names], and its writer.
type Part struct {
	Name  string
	Write func(io.Writer) error
}

// Pack writes a bundle with parts in order. Their modification time is at.
func Pack(w io.Writer, at time.Time, parts []Part) error {
	z := zip.NewWriter(&limited{w: w, room: MaxSize})
	for _, p := range parts {
		h := &zip.FileHeader{Name: p.Name, Method: zip.Deflate, Modified: at}
		h.SetMode(0o600)
		to, err := z.CreateHeader(h)
		if err == nil {
			err = p.Write(&limited{w: to, room: MaxSize})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return z.Close()
}

// A limited writer fails before it exceeds its limit.
type limited struct {
	w    io.Writer
	room int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.room {
		return 0, errFormat
	}
	n, err := l.w.Write(p)
	l.room -= int64(n)
	return n, err
}

// A Bundle is an open bundle.
type Bundle struct{ files map[string]*zip.File }

// Open opens a bundle. The error names the offending file.
func Open(r io.ReaderAt, size int64) (*Bundle, error) {
	if err := checkEnd(r, size); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // refused below
		return nil, fmt.Errorf("%w: %w", ErrNotBundle, err)
	}
	b := &Bundle{files: map[string]*zip.File{}}
	for _, f := range z.File {
		why := refuse(f)
		if b.files[f.Name] != nil {
			why = "duplicate name"
		}
		if why != "" {
			return nil, fmt.Errorf("%s: %s", quote(f.Name), why)
		}
		b.files[f.Name] = f
	}
	if b.files[Recording] == nil {
		return nil, missing(Recording)
	}
	return b, nil
}

func missing(name string) error { return fmt.Errorf("%s: no such file in the bundle", name) }

// checkEnd checks the end of a zip file, so that the directory is known to be short before it is
// read. Package zip finds the same end, because it looks at the last bytes first.
func checkEnd(r io.ReaderAt, size int64) error {
	var end [endSize]byte
	if size < endSize {
		return ErrNotBundle
	}
	if n, err := r.ReadAt(end[:], size-endSize); n < endSize {
		return fmt.Errorf("read the end of the bundle: %w", err)
	}
	le := binary.LittleEndian
	entries, directory, offset := le.Uint16(end[10:]), le.Uint32(end[12:]), le.Uint32(end[16:])
	switch {
	case le.Uint32(end[:]) != endMark || le.Uint16(end[20:]) != 0:
		return ErrNotBundle
	case size > MaxSize || offset == math.MaxUint32 || directory == math.MaxUint32:
		return errFormat
	case entries > maxEntries:
		return fmt.Errorf("too many files: %d (a bundle has %d)", entries, len(Names()))
	case directory > maxDirectory:
		return fmt.Errorf("directory of %d bytes (at most %d)", directory, maxDirectory)
	case int64(offset)+int64(directory)+endSize != size:
		return fmt.Errorf("%w: its directory is not before its end", ErrNotBundle)
	}
	return nil
}

// refuse returns why a file cannot be part of a bundle, or "".
func refuse(f *zip.File) string {
	switch {
	case strings.ContainsAny(f.Name, `/\:`) || strings.Contains(f.Name, ".."):
		return "the name is a path"
	case !slices.Contains(Names(), f.Name):
		return "not a file of a bundle"
	case !f.Mode().IsRegular():
		return "not a regular file"
	case f.Flags&encrypted != 0:
		return "encrypted"
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("unknown compression method %d", f.Method)
	}
	return ""
}

// quote quotes a file name for an error.
func quote(name string) string {
	return `"` + escape.String(escape.Shorten(name, maxName)) + `"`
}

// Unpack writes a file of the bundle. The error is ErrTooLarge if the file has more than most bytes.
func (b *Bundle) Unpack(w io.Writer, name string, most int64) error {
	f := b.files[name]
	if f == nil {
		return missing(name)
	}
	if err := unpack(w, f, most); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func unpack(w io.Writer, f *zip.File, most int64) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if n, err := io.Copy(w, io.LimitReader(r, most)); err != nil || n < most {
		return err
	}
	// The checksum is verified at the end; one more byte is too many.
	switch _, err := io.ReadFull(r, make([]byte, 1)); err {
	case nil:
		return fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, most)
	case io.EOF:
		return nil
	default:
		return err
	}
}
