package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// An Event is one thing that happened in a session. Events are only appended.
type Event struct {
	Kind EventKind `json:"kind"`
	Step string    `json:"step,omitempty"`
	// Value is what was given, answered or returned.
	Value json.RawMessage `json:"value,omitempty"`
}

// An EventKind says what happened.
type EventKind string

// The kinds.
const (
	Started  EventKind = "started"  // with the params
	Came     EventKind = "came"     // to a step
	Acted    EventKind = "acted"    // with the result of the step's action
	Prompted EventKind = "prompted" // the step waits for its answer
	Answered EventKind = "answered" // with the answer
	Ended    EventKind = "ended"    // with the result
	Stopped  EventKind = "stopped"  // for good, with the reason
)

// A state is what the events of a session amount to.
type state struct {
	params  any
	steps   map[string]any // the last answer or result of each
	answer  any            // the last answer of all
	visits  map[string]int
	at      string // the step come to
	acted   bool   // its action was done
	waiting bool   // for its answer
	over    bool
}

// replay folds events. It does nothing but read them.
func replay(events []Event) (*state, error) {
	if len(events) == 0 || events[0].Kind != Started {
		return nil, errors.New("the session has no beginning")
	}
	st := &state{steps: map[string]any{}, visits: map[string]int{}}
	for _, e := range events {
		if err := st.apply(e); err != nil {
			return nil, err
		}
	}
	return st, nil
}

func (st *state) apply(e Event) error {
	var value any
	if len(e.Value) > 0 {
		var err error
		if value, err = decode(e.Value); err != nil {
			return fmt.Errorf("the session is damaged: %w", err)
		}
	}
	switch e.Kind {
	case Started:
		st.params = value
	case Came:
		st.at, st.acted, st.waiting = e.Step, false, false
		st.visits[e.Step]++
	case Acted:
		st.acted = true
		st.steps[e.Step] = value
	case Prompted:
		st.waiting = true
	case Answered:
		st.waiting = false
		st.steps[e.Step], st.answer = value, value
	case Ended, Stopped:
		st.over = true
	default:
		return fmt.Errorf("the session is damaged: unknown event %q", e.Kind)
	}
	return nil
}

// decode keeps numbers as they are written.
func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// find returns the value of a path such as params.repo or steps.list.items.0.
// The names of steps may hold dots and slashes.
func (st *state) find(path string) (any, bool) {
	root, rest, _ := strings.Cut(path, ".")
	var v any
	switch root {
	case "params":
		v = st.params
	case "answer":
		v = st.answer
	case "steps":
		name := rest
		for {
			if found, ok := st.steps[name]; ok {
				v, rest = found, strings.TrimPrefix(strings.TrimPrefix(rest, name), ".")
				break
			}
			i := strings.LastIndex(name, ".")
			if i < 0 {
				return nil, false
			}
			name = name[:i]
		}
	default:
		return nil, false
	}
	if rest == "" {
		return v, v != nil
	}
	for key := range strings.SplitSeq(rest, ".") {
		switch c := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = c[key]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}

var variable = regexp.MustCompile(`\{\{\s*([^{}\s]+)\s*\}\}`)

// text fills a template: a text stands for itself, other values are JSON, and
// what is not there is empty.
func (st *state) text(template string) string {
	return variable.ReplaceAllStringFunc(template, func(found string) string {
		v, _ := st.find(variable.FindStringSubmatch(found)[1])
		switch v := v.(type) {
		case nil:
			return ""
		case string:
			return v
		default:
			return string(encode(v))
		}
	})
}

// value fills the strings of a JSON template.
func (st *state) value(template any) any {
	switch t := template.(type) {
	case string:
		if m := variable.FindStringSubmatch(t); m != nil && m[0] == t {
			v, _ := st.find(m[1])
			return v
		}
		return st.text(t)
	case map[string]any:
		filled := make(map[string]any, len(t))
		for k, v := range t {
			filled[k] = st.value(v)
		}
		return filled
	case []any:
		filled := make([]any, len(t))
		for i, v := range t {
			filled[i] = st.value(v)
		}
		return filled
	}
	return template
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

// holds reports whether a condition is met.
func (st *state) holds(c *Condition) bool {
	if c == nil {
		return true
	}
	v, there := st.find(c.Path)
	var met bool
	switch {
	case c.Exists != nil:
		met = there == *c.Exists
	case c.Equals != nil:
		met = there && equal(v, c.Equals)
	case c.In != nil:
		for _, e := range c.In {
			met = met || there && equal(v, e)
		}
	default:
		n, ok := v.(json.Number)
		f, err := n.Float64()
		met = ok && err == nil && (c.Above != nil && f > *c.Above || c.Below != nil && f < *c.Below)
	}
	return met != c.Not
}

func equal(v any, raw json.RawMessage) bool {
	want, err := decode(raw)
	if err != nil {
		return false
	}
	a, aok := v.(json.Number)
	b, bok := want.(json.Number)
	if aok && bok && a != b { // 1 and 1.0 are one number
		x, xerr := a.Float64()
		y, yerr := b.Float64()
		return xerr == nil && yerr == nil && x == y
	}
	return reflect.DeepEqual(v, want)
}
