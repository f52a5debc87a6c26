package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// An Event is one thing that happened in a session. Events are only appended.
type Event struct {
	Kind EventKind `json:"kind"`
	// Step is the full name of the step; of Started and Entered it is the name of the
	// subskill.
	Step string `json:"step,omitempty"`
	// Value is what was given, answered or returned.
	Value json.RawMessage `json:"value,omitempty"`
	// Digest is, of Started, that of the workflow.
	Digest string    `json:"digest,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// An EventKind says what happened.
type EventKind string

// The kinds.
const (
	Started    EventKind = "started"    // with the params
	Entered    EventKind = "entered"    // a subskill, with its params
	Came       EventKind = "came"       // to a step
	Acting     EventKind = "acting"     // the step's action begins, with its input
	Failed     EventKind = "failed"     // the action, with the reason
	Acted      EventKind = "acted"      // with the result of the action
	Prompted   EventKind = "prompted"   // the step waits for its answer
	Answered   EventKind = "answered"   // with the answer
	Saved      EventKind = "saved"      // with what stores became, and the step's value
	Redirected EventKind = "redirected" // to another skill, which ends the session
	Ended      EventKind = "ended"      // with the result
	Stopped    EventKind = "stopped"    // for good, with the reason
)

// A state is what the events of a session amount to. Values in it are never
// changed, only replaced.
type state struct {
	digest string
	bytes  int    // of all events
	area   string // the name of the area
	values
	visits map[string]int // by full name
	host   Host           // of this call

	at       string // the full name of the current step
	result   any    // of its action
	acting   bool   // its action was begun, and how it ended is not known
	acted    bool   // its action was done
	waiting  bool   // for its answer
	answered bool
	gave     bool // this visit has a value
	saved    bool
	over     bool
}

// values are those of an area. Steps have their names within it.
type values struct {
	params any
	steps  map[string]any   // the last answer or result of each
	all    map[string][]any // that of each visit
	stores map[string]any
	answer any // the last answer of all
}

func newState() *state { return &state{visits: map[string]int{}} }

// replay folds events. It does nothing but read them.
func replay(events []Event) (*state, error) {
	if len(events) == 0 || events[0].Kind != Started {
		return nil, errors.New("the session has no beginning")
	}
	st := newState()
	for _, e := range events {
		if err := st.apply(e); err != nil {
			return nil, fmt.Errorf("the session is damaged: %w", err)
		}
	}
	return st, nil
}

func (st *state) apply(e Event) error {
	st.bytes += e.bytes()
	var value any
	if len(e.Value) > 0 {
		var err error
		if value, err = decode(e.Value); err != nil {
			return err
		}
	}
	switch e.Kind {
	case Started, Entered:
		if e.Kind == Started {
			st.digest = e.Digest
		}
		st.area, st.at = e.Step, ""
		st.values = values{params: value, steps: map[string]any{}, all: map[string][]any{}, stores: map[string]any{}}
	case Came:
		st.at, st.result = e.Step, nil
		st.acting, st.acted, st.waiting, st.answered, st.gave, st.saved = false, false, false, false, false, false
		st.visits[e.Step]++
	case Acting:
		st.acting = true
	case Failed:
		st.acting = false
	case Acted:
		st.acting, st.acted, st.result = false, true, value
		st.give(e.Step, value)
	case Prompted:
		st.waiting = true
	case Answered:
		st.waiting, st.answered = false, true
		if len(e.Value) > 0 { // otherwise the step was passed
			st.answer = value
			st.give(e.Step, value)
		}
	case Saved:
		return st.save(e)
	case Ended, Stopped, Redirected:
		st.over = true
	default:
		return fmt.Errorf("unknown event %q", e.Kind)
	}
	return nil
}

// give makes v the value of a step. It replaces the one that this visit had, such
// as the result of the action.
func (st *state) give(step string, v any) {
	_, local, found := strings.Cut(step, "/")
	if !found {
		local = step
	}
	st.steps[local] = v
	before := st.all[local]
	if st.gave {
		before = before[:len(before)-1]
	}
	st.all[local] = append(before[:len(before):len(before)], v)
	st.gave = true
}

// decode keeps numbers as they are written.
func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null") // what was decoded can be encoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
