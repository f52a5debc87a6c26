package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
)

// An Event is one thing that happened in a session. Events are only appended.
type Event struct {
	Kind EventKind `json:"kind"`
	// Step is the full name of the step, of Started and Entered that of the
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
	Saved      EventKind = "saved"      // with what the stores became, and the step's value
	Redirected EventKind = "redirected" // to another skill, which ends the session
	Ended      EventKind = "ended"      // with the result
	Stopped    EventKind = "stopped"    // for good, with the reason
)

// values are what the steps of an area have given.
type values struct {
	params any
	steps  map[string]any   // the last answer or result of each, by local name
	all    map[string][]any // that of each visit
	stores map[string]any
	answer any            // the last answer of all
	parts  map[string]any // the last value in the part of each step that has one, since it was come to
}

// A state is what the events of a session amount to. Values in it are never
// changed, only replaced.
type state struct {
	digest string
	bytes  int    // of all events
	area   string // the name of the area
	values
	visits   map[string]int
	at       string // the full name of the step come to
	result   any    // of its action
	acting   bool   // its action was begun, and how it ended is not known
	acted    bool   // its action was done
	waiting  bool   // for its answer
	answered bool
	saved    bool
	over     bool
}

func newState() *state { return &state{visits: map[string]int{}} }

// replay folds events. It does nothing but read them.
func (w *Workflow) replay(events []Event) (*state, error) {
	if len(events) == 0 || events[0].Kind != Started {
		return nil, errors.New("the session has no beginning")
	}
	st := newState()
	for _, e := range events {
		if err := st.apply(e, w); err != nil {
			return nil, err
		}
	}
	return st, nil
}

// savedValue is the value of Saved.
type savedValue struct {
	Step   json.RawMessage            `json:"step,omitempty"`
	Stores map[string]json.RawMessage `json:"stores,omitempty"`
}

func (st *state) apply(e Event, w *Workflow) error {
	st.bytes += e.bytes()
	var value any
	if len(e.Value) > 0 {
		var err error
		if value, err = decode(e.Value); err != nil {
			return fmt.Errorf("the session is damaged: %w", err)
		}
	}
	switch e.Kind {
	case Started, Entered:
		if e.Kind == Started {
			st.digest = e.Digest
		}
		st.area, st.at = e.Step, ""
		st.values = values{params: value, steps: map[string]any{}, all: map[string][]any{}, stores: map[string]any{}, parts: map[string]any{}}
	case Came:
		st.at, st.result = e.Step, nil
		st.acting, st.acted, st.waiting, st.answered, st.saved = false, false, false, false, false
		st.visits[e.Step]++
		st.inPart(w.steps[e.Step])
	case Acting:
		st.acting = true
	case Failed:
		st.acting = false
	case Acted:
		st.acting, st.acted, st.result = false, true, value
		st.give(w.local(e.Step), value, false)
	case Prompted:
		st.waiting = true
	case Answered:
		st.waiting, st.answered = false, true
		if len(e.Value) == 0 {
			break // the step was passed
		}
		st.answer = value
		st.give(w.local(e.Step), value, st.acted)
	case Saved:
		return st.save(w.local(e.Step), e.Value)
	case Ended, Stopped, Redirected:
		st.over = true
	default:
		return fmt.Errorf("the session is damaged: unknown event %q", e.Kind)
	}
	return nil
}

// inPart begins or ends the part of a step, whose value is the last one in it.
func (st *state) inPart(n *node) {
	switch {
	case n == nil: // a step that is gone
	case n.ends == "":
		delete(st.parts, n.local)
	default:
		if v, ok := st.parts[n.ends]; ok {
			st.give(n.ends, v, false)
		}
	}
}

// give makes v the value of a step; instead means that this visit had one.
func (st *state) give(step string, v any, instead bool) {
	st.steps[step] = v
	for i, c := range step {
		if c == '/' {
			st.parts[step[:i]] = v
		}
	}
	if n := len(st.all[step]); instead && n > 0 {
		st.all[step] = append(st.all[step][:n-1:n-1], v)
		return
	}
	st.all[step] = append(st.all[step], v)
}

// save takes in what a step has saved.
func (st *state) save(step string, raw json.RawMessage) error {
	var v savedValue
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("the session is damaged: %w", err)
	}
	st.saved = true
	if v.Step != nil {
		value, err := decode(v.Step)
		if err != nil {
			return fmt.Errorf("the session is damaged: %w", err)
		}
		st.give(step, value, st.acted || st.answered)
	}
	for name, raw := range v.Stores {
		value, err := decode(raw)
		if err != nil {
			return fmt.Errorf("the session is damaged: %w", err)
		}
		st.stores[name] = value
	}
	return nil
}

// local is the name of a step in its area; one that is gone keeps its own.
func (w *Workflow) local(step string) string {
	if n := w.steps[step]; n != nil {
		return n.local
	}
	return step
}

// merge puts what is new into what is there: objects field by field, anything
// else as a whole. Neither of the two is changed.
func merge(old, more any) any {
	a, aok := old.(map[string]any)
	b, bok := more.(map[string]any)
	if !aok || !bok {
		return more
	}
	merged := make(map[string]any, len(a)+len(b))
	maps.Copy(merged, a)
	for k, v := range b {
		if before, there := merged[k]; there {
			v = merge(before, v)
		}
		merged[k] = v
	}
	return merged
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
