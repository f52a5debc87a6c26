package redact

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line that Lines reads.
const maxLine = 64 << 20

// An input is one text to look through; media is "json" if what comes out has
// to be JSON as well.
type input struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Text  string          `json:"text"`
	Media string          `json:"media,omitempty"`
}

type output struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Text  string          `json:"text"`
	Spans []Span          `json:"spans"`
}

// A LineError is a line that is not what Lines reads.
type LineError struct {
	Line int
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: invalid JSON: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Lines reads texts as lines of JSON, {"id", "text", "media"?}, and writes each without
// its secrets and personal data, {"id", "text", "spans"}.
func Lines(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var line input
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return errors.Join(w.Flush(), &LineError{n, err})
		}
		if err := enc.Encode(hide(line)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return errors.Join(w.Flush(), err)
	}
	return w.Flush()
}

func hide(line input) output {
	r := output{ID: line.ID, Text: line.Text, Spans: []Span{}}
	if line.Media == "json" {
		if spans, ok := FindJSON(line.Text); ok {
			r.Spans = append(r.Spans, spans...)
			r.Text = ReplaceJSON(line.Text, spans, Mark)
			return r
		}
	}
	spans := Find(line.Text)
	r.Spans = append(r.Spans, spans...)
	r.Text = Replace(line.Text, spans, Mark)
	return r
}
