package workflow

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
)

// What a workflow may use of the process that runs it. Anybody may have written
// it.
const (
	// maxValueBytes bounds what is kept at one time, such as an answer or a result,
	// and what is made of a template.
	maxValueBytes = 2 << 20
	// maxSessionBytes bounds all that is kept of a session.
	maxSessionBytes = 16 << 20
	// maxNesting bounds how deep a value is nested. A file of a session is read by
	// encoding/json, which does not go deeper than 10,000.
	maxNesting = 500
	// maxHops bounds the steps that are passed between two prompts.
	maxHops = 1000
	// maxReasonBytes bounds why a session ended, which is kept beyond its bound.
	maxReasonBytes = 4 << 10
	// mostVisits is what maxVisits may be.
	mostVisits = 10_000
)

// A boundError says which bound was exceeded. Trying again does not help.
type boundError string

func (e boundError) Error() string { return string(e) }

const (
	errTemplate boundError = "the template makes more than the 2 MiB that a value or text may have"
	errNesting  boundError = "it is nested deeper than the 500 levels that a value may have"
	errSession  boundError = "the session has become larger than the 16 MiB that one may have"
)

// fits checks the bounds of a value that is to be kept.
func fits(value json.RawMessage) error {
	switch {
	case len(value) > maxValueBytes:
		return boundError(fmt.Sprintf("%d bytes are more than the 2 MiB that a value may have", len(value)))
	case jsonscan.Depth(value) > maxNesting:
		return errNesting
	}
	return nil
}

// ofKind is what the value of an event is, as errors say it.
var ofKind = map[EventKind]string{
	Started: "the params", Entered: "the params of the subskill", Acting: "the input of the action", Failed: "why the action failed", Acted: "the result of the action",
	Answered: "the answer", Saved: "what the step saves", Redirected: "the input of the skill", Ended: "the result of the workflow",
}

// bytes are about what an event takes in its file.
func (e *Event) bytes() int { return len(e.Kind) + len(e.Step) + len(e.Value) + len(e.Digest) + 80 }

// checkSpace checks whether there is room for an event. For the end of a session that
// failed there always is.
func (st *state) checkSpace(e *Event) error {
	if e.Kind == Stopped {
		return nil
	}
	if err := fits(e.Value); err != nil {
		return boundError(ofKind[e.Kind] + ": " + err.Error())
	}
	if st.bytes+e.bytes() > maxSessionBytes {
		return errSession
	}
	return nil
}

// A filler fills the templates of one thing, until they make more than a value may
// have.
type filler struct {
	*state
	left  int  // of maxValueBytes; below zero there was more
	inert bool // values in texts cannot be elements of prompts
}

func (st *state) filler() *filler { return &filler{state: st, left: maxValueBytes} }

// fill makes the value of a template.
func (st *state) fill(template json.RawMessage) (json.RawMessage, error) {
	return st.filler().fill(template)
}

func (f *filler) fill(template json.RawMessage) (json.RawMessage, error) {
	t, err := decode(template)
	if err != nil {
		return nil, err
	}
	v := f.value(t)
	if err := f.err(); err != nil {
		return nil, err
	}
	return encode(v), nil
}

// err says that there was more.
func (f *filler) err() error {
	if f.left < 0 {
		return errTemplate
	}
	return nil
}

// spend subtracts what a value costs, and reports whether there was enough. A part
// that is in a value several times costs each time: written out it is as long.
func (f *filler) spend(v any) bool {
	switch v := v.(type) {
	case string:
		f.left -= len(v) + 2
	case json.Number:
		f.left -= len(v)
	case map[string]any:
		f.left -= 2
		for key, value := range v {
			if f.left -= len(key) + 4; !f.spend(value) {
				break
			}
		}
	case []any:
		f.left -= 2
		for _, value := range v {
			if f.left--; !f.spend(value) {
				break
			}
		}
	default:
		f.left -= 5
	}
	return f.left >= 0
}

// text fills a template with values as they are written.
func (f *filler) text(template string) string {
	if f.left -= len(template); f.left < 0 {
		return ""
	}
	var b strings.Builder
	rest := 0
	for _, m := range variable.FindAllStringSubmatchIndex(template, -1) {
		v, there := f.find(template[m[2]:m[3]])
		if there && !f.spend(v) {
			return ""
		}
		b.WriteString(template[rest:m[0]])
		if value := written(v); f.inert {
			b.WriteString(inert(value))
		} else {
			b.WriteString(value)
		}
		rest = m[1]
	}
	return b.String() + template[rest:]
}

// value fills the strings of a JSON template.
func (f *filler) value(template any) any {
	if f.left < 0 {
		return nil
	}
	switch t := template.(type) {
	case string:
		if m := variable.FindStringSubmatch(t); m != nil && m[0] == t {
			v, _ := f.find(m[1])
			f.spend(v)
			return v
		}
		return f.text(t)
	case map[string]any:
		filled := make(map[string]any, len(t))
		for k, v := range t {
			f.left -= len(k) + 4
			filled[k] = f.value(v)
		}
		return filled
	case []any:
		filled := make([]any, len(t))
		for i, v := range t {
			f.left--
			filled[i] = f.value(v)
		}
		return filled
	}
	f.spend(template)
	return template
}
