package transport

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

const (
	// firstRetryWait is the time before an ended stream is requested again, unless the
	// server specifies one. It grows up to maxRetryWait.
	firstRetryWait = time.Second
	maxRetryWait   = time.Minute
	// steadyStream is the duration after which a stream resets the wait.
	steadyStream = 30 * time.Second
	// maxResumes bounds the consecutive resumptions of a call's stream without an
	// event.
	maxResumes = 5
)

// A stream is the body of an event stream for the SDK. It contains only messages that
// the SDK can read. The SDK ends its connection, with all calls on it, if a stream has
// other data or ends too often. So streams of Streamable HTTP are reopened here: the
// stream of a call if its events have ids, and the optional stream of a session until
// the session ends. If the stream of a call ends without an answer, the call gets an
// error.
type stream struct {
	r       *HTTP
	ctx     context.Context
	req     *http.Request // the request that opened it
	call    *outgoing     // nil for the stream of a session
	capture *Capture

	events  *eventReader // nil between two streams
	began   time.Time
	last    string        // id of the last event
	said    string        // text of the last event named error
	wait    time.Duration // time to wait before the next attempt
	resumes int

	pending []byte
	done    bool  // the call is answered
	err     error // after pending
}

// newStream returns the stream that begins with body.
func newStream(r *HTTP, req *http.Request, body io.ReadCloser, call *outgoing) *stream {
	return &stream{r: r, ctx: req.Context(), req: req, call: call, capture: captureFrom(req.Context()), events: newEventReader(body, r.maxBytes), began: time.Now(), wait: firstRetryWait}
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.pending) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// Close ends the stream.
func (s *stream) Close() error {
	s.err = io.ErrClosedPipe
	if s.events != nil {
		return s.events.body.Close()
	}
	return nil
}

// next reads one event into pending, or sets err.
func (s *stream) next() {
	switch {
	case s.done:
		s.drain()
		return
	case s.events == nil:
		s.reopen()
		return
	}
	e, err := s.events.next()
	if err != nil {
		s.ended(err)
		return
	}
	if e.id != "" && e.id != s.last {
		s.last, s.resumes = e.id, 0
	}
	if e.retry > 0 {
		s.wait = e.retry
	}
	if !e.ofMessage() {
		if e.name == "error" && s.call != nil {
			s.said = words(e.data)
		}
		return
	}
	for _, data := range values(bytes.TrimPrefix(e.data, utf8BOM)) {
		if m := s.message(data); m != nil {
			s.send(m)
		}
		if s.done {
			return
		}
	}
}

// send appends m to the events that Read returns.
func (s *stream) send(m jsonrpc.Message) {
	if frame, err := jsonrpc.EncodeMessage(m); err == nil {
		s.pending = append(s.pending, writeEvent("message", frame)...)
	}
}

// message returns the message for the SDK in the data of an event, or nil.
func (s *stream) message(data []byte) jsonrpc.Message {
	valid := jsonscan.Valid(data)
	var m jsonrpc.Message
	if valid {
		m = decodeMessage(data)
	}
	if resp, ok := m.(*jsonrpc.Response); ok {
		if s.call == nil || !sameID(resp.ID, s.call.id) {
			return nil // the stream belongs to no call
		}
		resp.ID = s.call.id
		return s.answer(resp)
	}
	if m != nil {
		return vet(m)
	}
	if s.call == nil {
		return nil
	}
	e, id, ok := unreadable(data)
	if valid && !ok {
		if resp := unversioned(data); resp != nil && sameID(resp.ID, s.call.id) {
			resp.ID = s.call.id
			return s.answer(resp)
		}
	}
	if !ok || e.method != nil || id.IsValid() && id != s.call.id || !id.IsValid() && e.err == nil {
		return nil // not an answer
	}
	if valid && e.err != nil { // an error without an id can only be about this call
		return s.answer(&jsonrpc.Response{ID: s.call.id, Error: decodeError(e.err)})
	}
	if fixed, ok := s.capture.repair(data); ok {
		if resp, ok := decodeMessage(fixed).(*jsonrpc.Response); ok && resp.ID == s.call.id {
			return s.answer(resp)
		}
	}
	return s.failed(&AnswerError{Why: whyUnreadable(data), Text: shown(data)})
}

// drain reads the rest after the answer to a call, so that the connection can be
// reused.
func (s *stream) drain() {
	s.err = io.EOF
	if s.events != nil {
		s.events.limited.N = MaxMessageBytes
		_, _ = io.Copy(io.Discard, s.events.lines) // only the end matters
		s.events.body.Close()
	}
}

// answer ends the stream with the answer to the call.
func (s *stream) answer(resp *jsonrpc.Response) jsonrpc.Message {
	s.done = true
	s.capture.answered(resp)
	return resp
}

// failed ends the stream with an error in place of the answer.
func (s *stream) failed(err *AnswerError) jsonrpc.Message {
	s.capture.fail(err)
	return s.answer(&jsonrpc.Response{ID: s.call.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}})
}

// ended handles the end of the server's stream.
func (s *stream) ended(err error) {
	s.events.body.Close()
	s.events = nil
	if s.ctx.Err() != nil {
		s.err = s.ctx.Err()
		return
	}
	if s.call == nil {
		if time.Since(s.began) > steadyStream {
			s.wait = firstRetryWait
		}
		return
	}
	if s.last != "" && s.resumes < maxResumes && !s.call.modern {
		s.resumes++
		return
	}
	if err == io.EOF {
		err = errEventsEnded
	}
	s.giveUp(err.Error())
}

// giveUp answers the call with an error.
func (s *stream) giveUp(why string) {
	s.send(s.failed(&AnswerError{Why: why, Text: s.said}))
}

// reopen requests the stream again, after a wait.
func (s *stream) reopen() {
	t := time.NewTimer(s.wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
		return
	}
	s.wait = min(s.wait*3/2, maxRetryWait)
	resp, err := s.r.openStream(s.req, s.last)
	switch {
	case s.ctx.Err() != nil:
		s.err = s.ctx.Err()
	case err == nil:
		s.events, s.began = newEventReader(resp.Body, s.r.maxBytes), time.Now()
	case s.call == nil:
		if refused, ok := err.(*StatusError); ok && !refused.transient() {
			<-s.ctx.Done() // the session continues without the stream
			s.err = s.ctx.Err()
		}
	case s.resumes < maxResumes:
		s.resumes++
	default:
		s.giveUp("the event stream ended and could not be resumed: " + err.Error())
	}
	if err == nil || resp == nil {
		return
	}
	resp.Body.Close()
}

// transient reports whether the same request may succeed later.
func (e *StatusError) transient() bool {
	return e.Status >= 500 && e.Status != http.StatusNotImplemented || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status < 300
}

// A sseFilter is the stream of the 2024-11-05 transport for the SDK: the address for
// messages first, then messages that the SDK can read. A call with an unreadable answer
// gets an error.
type sseFilter struct {
	events  *eventReader
	tee     *tee
	named   bool // the address was sent
	pending []byte
}

func (f *sseFilter) Close() error { return f.events.body.Close() }

func (f *sseFilter) Read(p []byte) (int, error) {
	for len(f.pending) == 0 {
		e, err := f.events.next()
		if err != nil {
			return 0, err
		}
		if e.name == "endpoint" && !f.named {
			f.named = true
			f.pending = writeEvent("endpoint", bytes.TrimSpace(e.data))
		} else if f.named && e.ofMessage() {
			for _, data := range values(bytes.TrimPrefix(e.data, utf8BOM)) {
				if frame := f.message(data); frame != nil {
					f.pending = append(f.pending, writeEvent("message", frame)...)
				}
			}
		}
	}
	n := copy(p, f.pending)
	f.pending = f.pending[n:]
	return n, nil
}

// message returns the data of an event that the SDK can read, or nil to skip it.
func (f *sseFilter) message(data []byte) []byte {
	var m jsonrpc.Message
	if jsonscan.Valid(data) {
		m = decodeMessage(data)
	}
	if m == nil {
		m = f.tee.unreadable(data)
	}
	if m = vet(m); m == nil {
		return nil
	}
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return nil
	}
	return frame
}
