package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mcptap/mcptap/store"
	"github.com/mcptap/mcptap/tap"
	"github.com/mcptap/mcptap/tap/transcript"
)

// transcriptWriter is the exporter of transcripts: it finds the words for the
// reader, package transcript does the rest.
type transcriptWriter struct {
	*transcript.Writer
	view *viewer
}

func newTranscriptWriter(w *bufio.Writer, raw func(io.Writer, tap.Frame) error) *transcriptWriter {
	return &transcriptWriter{transcript.NewWriter(w, raw), newViewer(raw)}
}

func (t *transcriptWriter) begin(info store.Info) error {
	return t.Begin(transcript.Head{Header: info.Header, Status: info.Status.String(), End: info.Duration, Gaps: info.Gaps})
}

func (t *transcriptWriter) frame(f tap.Frame) error {
	row, err := t.view.row(&f)
	if err != nil {
		return err
	}
	about := []string{row.kind, row.method, row.about}
	if f.Lane == tap.Stderr || row.kind == "invalid" {
		about = about[:1] // the payload says it better
	}
	if about[0] == f.Lane.String() {
		about = nil
	}
	if l, ok := row.answers(); ok {
		about = append(about, fmt.Sprintf("#%d", l.Request.Seq))
	}
	return t.Frame(f, about...)
}

func (t *transcriptWriter) end(time.Duration, store.Status) error { return nil }

// transcriptReader reads a transcript as [importOptions] wants it.
type transcriptReader struct {
	*transcript.Reader
	at time.Duration // of the last frame
}

// newTranscript parses a transcript and its comment.
func newTranscript(data []byte) (*transcriptReader, source, error) {
	r, err := transcript.NewReader(data)
	if errors.Is(err, transcript.ErrNoFrames) {
		return nil, source{}, withHint(errors.New("neither NDJSON nor a transcript"), "it must come from `mcptap export`")
	}
	if err != nil {
		return nil, source{}, err
	}
	h := r.Head()
	return &transcriptReader{Reader: r}, source{header: h.Header, gaps: h.Gaps}, nil
}

func (t *transcriptReader) frame() (tap.Frame, *sourceEnd, error) {
	f, err := t.Next()
	var wrong *transcript.Error
	switch {
	case err == io.EOF:
		h := t.Head()
		end := sourceEnd{at: t.at, cut: h.Status != "" && h.Status != "ended"}
		if h.End != 0 {
			end.at = h.End
		}
		return f, &end, nil
	case errors.As(err, &wrong) && wrong.Hint != "":
		return f, nil, withHint(err, wrong.Hint)
	case err != nil:
		return f, nil, err
	}
	t.at = f.At
	return f, nil, nil
}
