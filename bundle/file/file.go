// Package file makes bundles of recordings.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcptap/mcptap/bundle"
	"github.com/mcptap/mcptap/recording"
	"github.com/mcptap/mcptap/redact"
	redactfile "github.com/mcptap/mcptap/redact/file"
	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/web"
)

// Ext is the extension of a bundle, and SummaryExt of a summary alone.
const (
	Ext        = ".zip"
	SummaryExt = ".md"
)

// Options control what is written.
type Options struct {
	Out     string         // the output file: a bundle, or only the summary if it has SummaryExt
	Keep    bool           // keep secrets
	Redact  redact.Options // ignored with Keep
	Version string         // of the program
	Now     func() time.Time
	Say     func(string) // reports warnings
}

// Write writes the bundle, or the summary alone. arg is the name of the recording as the user typed
// it, and session the number of the selected session, 0 for all. It returns what was replaced.
func (o *Options) Write(ctx context.Context, src recording.Source, arg string, session int) ([]redact.Finding, error) {
	info, err := src.Info()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mcptap-bundle-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, bundle.Recording)
	found, err := o.copy(ctx, src, copied, session == 0 && info.Status != store.Live)
	if err != nil {
		return nil, err
	}
	if err := o.write(ctx, copied, info, found); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", arg, recording.Packed(err, copied))
	}
	return found, nil
}

// copy makes the recording for the bundle. A file that needs no change and has no writer is copied
// byte for byte, so frames of any size need no memory.
func (o *Options) copy(ctx context.Context, src recording.Source, to string, still bool) ([]redact.Finding, error) {
	rec, whole := src.(*store.Recording)
	switch {
	case !o.Keep:
		r := redact.New(o.Redact)
		if err := redactfile.Copy(ctx, to, src, r); err != nil {
			return nil, err
		}
		redactfile.Warn(r, o.Say)
		return r.Findings(), nil
	case whole && still:
		return nil, copyFile(rec.Path(), to)
	}
	info, err := src.Info()
	if err != nil {
		return nil, err
	}
	return nil, recording.Copy(ctx, to, info.Header, src, nil)
}

// write writes the bundle or the summary. The content comes from the copy; the status, and the id if
// nothing was copied, come from the original.
func (o *Options) write(ctx context.Context, copied string, was store.Info, found []redact.Finding) error {
	rec, err := store.Open(copied)
	if err != nil {
		return err
	}
	info, err := rec.Info()
	if err != nil {
		return err
	}
	was.ExtendLive(o.Now())
	info.Duration = max(info.Duration, was.Duration)
	about := bundle.About{
		Header: info.Header, Status: was.Status.String(), Duration: info.Duration, Gaps: info.Gaps,
		Program: "mcptap " + o.Version, Secrets: o.Keep,
	}
	for _, f := range found {
		about.Replaced += f.Times
	}
	summary := func(w io.Writer) error { return bundle.WriteSummary(ctx, w, rec, about) }
	if strings.EqualFold(filepath.Ext(o.Out), SummaryExt) {
		about.Header.ID = was.Header.ID
		return recording.WriteFile(o.Out, summary)
	}
	about.Bundle = filepath.Base(o.Out)
	parts := []bundle.Part{
		{Name: bundle.Readme, Write: func(w io.Writer) error { return bundle.WriteReadme(w, o.Keep) }},
		{Name: bundle.Summary, Write: summary},
		{Name: bundle.Page, Write: func(w io.Writer) error {
			return web.Offline(ctx, w, web.Reader{FrameReader: packed{rec, was.Status}, Key: info.Header.ID})
		}},
		{Name: bundle.Recording, Write: func(w io.Writer) error { return readFileInto(w, copied) }},
	}
	return recording.WriteFile(o.Out, func(w io.Writer) error { return bundle.Pack(w, o.Now(), parts) })
}

// A packed recording is the copy under its name in the bundle, with the status of the original,
// because the copy of a live recording looks cut off.
type packed struct {
	*store.Recording
	was store.Status
}

// Info implements [web.FrameReader].
func (p packed) Info() (store.Info, error) {
	info, err := p.Recording.Info()
	info.Path, info.Status = bundle.Recording, p.was
	return info, err
}

func readFileInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func copyFile(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(readFileInto(f, from), f.Close())
}
