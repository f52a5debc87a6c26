package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// An event is one of the events that a server sends on a stream.
type event struct {
	name    string
	id      string
	retry   time.Duration
	data    []byte
	hasData bool
}

// ofMessage reports whether the event carries a message.
func (e *event) ofMessage() bool {
	return e.hasData && (e.name == "" || e.name == "message") && len(bytes.TrimSpace(e.data)) > 0
}

// An eventReader reads server-sent events. It skips comments, unknown fields and lines
// without a colon.
type eventReader struct {
	body    io.ReadCloser
	limited *io.LimitedReader // limits body to one event
	lines   *bufio.Reader     // of room
	most    func() int64      // bytes of one event
	begun   bool              // a line was read
	err     error             // after the last event
}

// newEventReader returns a reader of body. Before each event it calls most for the
// largest size of the event, in bytes.
func newEventReader(body io.ReadCloser, most func() int64) *eventReader {
	room := &io.LimitedReader{R: body}
	return &eventReader{body: body, limited: room, most: most, lines: bufio.NewReaderSize(room, 16<<10)}
}

// next returns the next event, or the part of it before the end of the stream.
func (r *eventReader) next() (e event, err error) {
	if r.err != nil {
		return e, r.err
	}
	most := r.most()
	r.limited.N = most
	for {
		line, err := r.lines.ReadBytes('\n')
		if !r.begun {
			line, r.begun = bytes.TrimPrefix(line, utf8BOM), true
		}
		if err != nil {
			if r.err = err; r.limited.N == 0 {
				r.err = fmt.Errorf("an event is larger than %d bytes", most)
			}
			if err != io.EOF || r.limited.N == 0 {
				return event{}, r.err
			}
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			e.field(line)
		} else if err == nil {
			return e, nil
		}
		if err == nil {
			continue
		}
		if e.hasData {
			return e, nil
		}
		return event{}, r.err
	}
}

// field adds one line of an event.
func (e *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.name = string(value)
	case "id":
		e.id = string(bytes.TrimSpace(value))
	case "retry":
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil && n > 0 {
			e.retry = min(time.Duration(min(n, maxRetryWait.Milliseconds()))*time.Millisecond, maxRetryWait)
		}
	case "data":
		if e.hasData {
			e.data = append(append(e.data, '\n'), value...)
		} else {
			e.data, e.hasData = value, true
		}
	}
}

// writeEvent returns an event with the given name and data.
func writeEvent(name string, data []byte) []byte {
	out := make([]byte, 0, len(name)+len(data)+20)
	out = append(append(append(out, "event: "...), name...), '\n')
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		out = append(append(append(out, "data: "...), line...), '\n')
	}
	return append(out, '\n')
}
