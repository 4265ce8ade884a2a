package bundle

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"
)

// made returns a zip file with these entries.
func made(t *testing.T, files ...*zip.FileHeader) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, h := range files {
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, "/") {
			if _, err := io.WriteString(w, "the content"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func named(name string) *zip.FileHeader { return &zip.FileHeader{Name: name, Method: zip.Deflate} }

func link(name string) *zip.FileHeader {
	h := named(name)
	h.SetMode(fs.ModeSymlink | 0o777)
	return h
}

func with(b []byte, change func(b []byte)) []byte {
	b = bytes.Clone(b)
	change(b)
	return b
}

func TestHostileBundles(t *testing.T) {
	good := made(t, named(Recording))
	end := len(good) - endSize
	directory := bytes.Index(good, []byte("PK\x01\x02"))
	var many []*zip.FileHeader
	for i := range maxEntries + 1 {
		many = append(many, named(fmt.Sprint(i)))
	}
	lying := made(t, many...)
	lying[len(lying)-endSize+8], lying[len(lying)-endSize+10] = 1, 1
	long := named(Recording)
	long.Extra = append([]byte{0xfe, 0xca, 0xf0, 0xff}, make([]byte, 0xfff0)...)
	for name, tt := range map[string]struct {
		zip  []byte
		want string
	}{
		"nothing":                   {nil, "not a complete zip file"},
		"text":                      {[]byte(strings.Repeat("not a zip file ", 9)), "not a complete zip file"},
		"no files":                  {made(t), "recording.mcptap: no such file"},
		"no recording":              {made(t, named(Page)), "recording.mcptap: no such file"},
		"above":                     {made(t, named("../"+Recording)), `"../recording.mcptap": the name is a path`},
		"absolute":                  {made(t, named("/etc/passwd")), `"/etc/passwd": the name is a path`},
		"path of Windows":           {made(t, named(`..\`+Recording)), `the name is a path`},
		"drive":                     {made(t, named(`C:x`)), `"C:x": the name is a path`},
		"folder":                    {made(t, named("a/")), `"a/": the name is a path`},
		"device":                    {made(t, named(Recording), named("NUL")), `"NUL": not a file of a bundle`},
		"device with extension":     {made(t, named(Recording), named("aux.txt")), `"aux.txt": not a file of a bundle`},
		"another case":              {made(t, named("RECORDING.MCPTAP")), `not a file of a bundle`},
		"trailing space":            {made(t, named(Recording+" ")), `not a file of a bundle`},
		"NUL in the name":           {made(t, named(Recording+"\x00.txt")), `not a file of a bundle`},
		"a bundle in a bundle":      {made(t, named(Recording), named("bug.mcptap.zip")), `not a file of a bundle`},
		"zip64 numbers":             {with(good, func(b []byte) { copy(b[end+12:], "\xff\xff\x00\x00") }), "directory of 65535 bytes"},
		"a million files":           {with(good, func(b []byte) { copy(b[end+8:], "\xff\xff\xff\xff") }), "too many files: 65535"},
		"unknown":                   {made(t, named(Recording), named(".bashrc")), `".bashrc": not a file of a bundle`},
		"control characters":        {made(t, named("a\x1b[2J")), `"a\x1b[2J": not a file of a bundle`},
		"long name":                 {made(t, named(strings.Repeat("a", 9999))), "aaa…\": not a file of a bundle"},
		"link":                      {made(t, link(Recording)), `"recording.mcptap": not a regular file`},
		"twice":                     {made(t, named(Recording), named(Recording)), `"recording.mcptap": duplicate name`},
		"many":                      {made(t, many...), "too many files: 17"},
		"more files than it claims": {lying, "not a complete zip file"},
		"long directory":            {made(t, long, named(Page)), "directory of "},
		"cut":                       {good[:len(good)-1], "not a complete zip file"},
		"comment":                   {append(bytes.Clone(good), "a comment"...), "not a complete zip file"},
		"data before":               {append([]byte("#!/bin/sh\n"), good...), "not before its end"},
		"encrypted":                 {with(good, func(b []byte) { b[directory+8] |= encrypted }), `"recording.mcptap": encrypted`},
		"unknown method":            {with(good, func(b []byte) { b[directory+10] = 12 }), "compression method 12"},
		"zip64":                     {with(good, func(b []byte) { copy(b[end+16:], "\xff\xff\xff\xff") }), "too large"},
		"directory out of file":     {with(good, func(b []byte) { b[end+18] = 9 }), "not before its end"},
	} {
		_, err := Open(bytes.NewReader(tt.zip), int64(len(tt.zip)))
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 400 {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// TestUnpackCounts checks the limit of unpacked bytes.
func TestUnpackCounts(t *testing.T) {
	zeros := make([]byte, 1<<20)
	var out bytes.Buffer
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	err := Pack(&out, at, []Part{{Recording, func(w io.Writer) error { _, err := w.Write(zeros); return err }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		most int64
		fits bool
	}{{1 << 20, true}, {1<<20 - 1, false}, {0, false}, {1 << 30, true}} {
		b, err := Open(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		err = b.Unpack(&got, Recording, tt.most)
		if tt.fits && (err != nil || !bytes.Equal(got.Bytes(), zeros)) || !tt.fits && !errors.Is(err, ErrTooLarge) || int64(got.Len()) > tt.most {
			t.Errorf("at most %d: %d bytes, %v", tt.most, got.Len(), err)
		}
	}
}

// TestUnpackChecks checks that a file with a wrong checksum or size is refused, also if it has
// exactly the allowed size.
func TestUnpackChecks(t *testing.T) {
	good := made(t, named(Recording))
	directory := bytes.Index(good, []byte("PK\x01\x02"))
	for _, at := range []int{16, 24} { // the checksum, and the size
		bad := with(good, func(b []byte) { b[directory+at]++ })
		b, err := Open(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			t.Fatal(err)
		}
		for _, most := range []int64{int64(len("the content")), 1 << 20} {
			if err := b.Unpack(io.Discard, Recording, most); err == nil || !strings.Contains(err.Error(), Recording) {
				t.Errorf("%d, at most %d: %v", at, most, err)
			}
		}
		if err := b.Unpack(io.Discard, Page, 9); err == nil {
			t.Error("no error for a missing file")
		}
	}
}
