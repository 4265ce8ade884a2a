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

// Names returns the names of the files that a bundle may have, in their order.
func Names() []string { return []string{Readme, Summary, Page, Recording} }

// MaxSize is the most bytes of a bundle, and of each file in it: more needs
// another form of zip file, which Open does not read.
const MaxSize = math.MaxUint32 - 1

const (
	// endSize is the size of the record that ends a zip file, without a comment,
	// and endMark what it begins with (APPNOTE 4.3.16).
	endSize = 22
	endMark = 0x06054b50
	// maxEntries is how many files a bundle may claim to have, and maxDirectory
	// the bytes that may be spent on describing them: ours take a hundred each. It
	// is less than 65535, which package zip takes for a sign that another record
	// says it, with numbers that nobody has looked at.
	maxEntries   = 16
	maxDirectory = 16 << 10
	// encrypted is the flag of a file that is (APPNOTE 4.4.4).
	encrypted = 1
	// maxName is how much of a name an error quotes.
	maxName = 100
)

// Errors that a caller may want to tell apart.
var (
	// ErrNotBundle means that the file is no zip file at all.
	ErrNotBundle = errors.New("it is no zip file, or not a whole one")
	// ErrTooLarge means that there is more than the caller or the format allows.
	ErrTooLarge = errors.New("too large")
)

// A Part is a file for a bundle: one of Names, and what writes it.
type Part struct {
	Name  string
	Write func(io.Writer) error
}

// Pack writes a bundle of files, in their order. At is what they say of their age.
func Pack(w io.Writer, at time.Time, parts []Part) error {
	all := &limited{w: w, room: MaxSize}
	z := zip.NewWriter(all)
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

// A limited writer fails with ErrTooLarge before it has written too much.
type limited struct {
	w    io.Writer
	room int64
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.room {
		return 0, fmt.Errorf("%w for a bundle, which has at most 4 GiB", ErrTooLarge)
	}
	n, err := l.w.Write(p)
	l.room -= int64(n)
	return n, err
}

// A Bundle is one that was opened.
type Bundle struct{ files map[string]*zip.File }

// Open reads what a bundle has. The error names the file in it that is wrong.
func Open(r io.ReaderAt, size int64) (*Bundle, error) {
	if err := checkEnd(r, size); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // which is refused below
		return nil, fmt.Errorf("%w: %w", ErrNotBundle, err)
	}
	b := &Bundle{files: map[string]*zip.File{}}
	for _, f := range z.File {
		why := refuse(f)
		if b.files[f.Name] != nil {
			why = "it is there twice"
		}
		if why != "" {
			return nil, fmt.Errorf("%s: %s", inWords(f.Name), why)
		}
		b.files[f.Name] = f
	}
	if b.files[Recording] == nil {
		return nil, fmt.Errorf("%s: it is not there", Recording)
	}
	return b, nil
}

// checkEnd reads the end of a zip file, to know that the directory before it is
// short before anybody reads that. What package zip finds there is the same: it
// looks at the last bytes first.
func checkEnd(r io.ReaderAt, size int64) error {
	var end [endSize]byte
	if size < endSize {
		return ErrNotBundle
	}
	if n, err := r.ReadAt(end[:], size-endSize); n < endSize {
		return fmt.Errorf("read its end: %w", err)
	}
	le := binary.LittleEndian
	entries, directory, offset := le.Uint16(end[10:]), le.Uint32(end[12:]), le.Uint32(end[16:])
	switch {
	case le.Uint32(end[:]) != endMark || le.Uint16(end[20:]) != 0:
		return ErrNotBundle
	case size > MaxSize || offset == math.MaxUint32 || directory == math.MaxUint32:
		return fmt.Errorf("%w for a bundle, which has at most 4 GiB", ErrTooLarge)
	case entries > maxEntries:
		return fmt.Errorf("it says that it has %d files, and a bundle has %d", entries, len(Names()))
	case directory > maxDirectory:
		return fmt.Errorf("its directory has %d bytes, more than %d", directory, maxDirectory)
	case int64(offset)+int64(directory)+endSize != size:
		return fmt.Errorf("%w: its directory is not before its end", ErrNotBundle)
	}
	return nil
}

// refuse says why a file cannot be one of a bundle, "" if it can.
func refuse(f *zip.File) string {
	switch {
	case strings.ContainsAny(f.Name, `/\:`) || strings.Contains(f.Name, ".."):
		return "its name is a path"
	case !slices.Contains(Names(), f.Name):
		return "it is none of the files of a bundle"
	case !f.Mode().IsRegular():
		return "it is a link, a directory or the like"
	case f.Flags&encrypted != 0:
		return "it is encrypted"
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("it is compressed by method %d, and not by 0 or 8", f.Method)
	}
	return ""
}

// inWords is a stranger's file name as an error shows it.
func inWords(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return `"` + escape.Escape(name) + `"`
}

// Unpack writes one file of a bundle, but no more than so many bytes: then the
// error is ErrTooLarge. What a bundle does not have is an error.
func (b *Bundle) Unpack(w io.Writer, name string, most int64) error {
	f := b.files[name]
	if f == nil {
		return fmt.Errorf("%s: it is not there", name)
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	n, err := io.Copy(w, io.LimitReader(r, most))
	if err == nil && n == most {
		// One byte more is too many; none is the end, with its checksum.
		var one [1]byte
		if _, err = io.ReadFull(r, one[:]); err == nil {
			err = fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, most)
		} else if err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
