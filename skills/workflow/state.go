package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// An Event is one thing that happened in a session. Events are only appended.
type Event struct {
	Kind EventKind `json:"kind"`
	Step string    `json:"step,omitempty"`
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
	Came       EventKind = "came"       // to a step
	Acting     EventKind = "acting"     // the step's action begins, with its input
	Failed     EventKind = "failed"     // the action, with the reason
	Acted      EventKind = "acted"      // with the result of the action
	Prompted   EventKind = "prompted"   // the step waits for its answer
	Answered   EventKind = "answered"   // with the answer
	Redirected EventKind = "redirected" // to another skill, which ends the session
	Ended      EventKind = "ended"      // with the result
	Stopped    EventKind = "stopped"    // for good, with the reason
)

// A state is what the events of a session amount to. Values in it are never
// changed, only replaced.
type state struct {
	digest string
	bytes  int // of all events
	params any
	steps  map[string]any   // the last answer or result of each
	all    map[string][]any // that of each visit
	answer any              // the last answer of all
	visits map[string]int

	at       string // the current step
	result   any    // of its action
	acting   bool   // its action was begun, and how it ended is not known
	acted    bool   // its action was done
	waiting  bool   // for its answer
	answered bool
	over     bool
}

func newState() *state {
	return &state{steps: map[string]any{}, all: map[string][]any{}, visits: map[string]int{}}
}

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
	case Started:
		st.digest, st.params = e.Digest, value
	case Came:
		st.at, st.result = e.Step, nil
		st.acting, st.acted, st.waiting, st.answered = false, false, false, false
		st.visits[e.Step]++
	case Acting:
		st.acting = true
	case Failed:
		st.acting = false
	case Acted:
		st.acting, st.acted, st.result = false, true, value
		st.steps[e.Step], st.all[e.Step] = value, append(st.all[e.Step], value)
	case Prompted:
		st.waiting = true
	case Answered:
		st.waiting, st.answered = false, true
		if len(e.Value) > 0 { // otherwise the step was passed
			st.answer = value
			st.answerOf(e.Step)
		}
	case Ended, Stopped, Redirected:
		st.over = true
	default:
		return fmt.Errorf("unknown event %q", e.Kind)
	}
	return nil
}

// answerOf makes the answer the value of a step, instead of the result that its
// action gave in this visit.
func (st *state) answerOf(step string) {
	st.steps[step] = st.answer
	before := st.all[step]
	if st.acted && len(before) > 0 {
		before = before[:len(before)-1]
	}
	st.all[step] = append(before[:len(before):len(before)], st.answer)
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
