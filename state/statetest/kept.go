package statetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

func (a Audits) payloads(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{Payloads: true})
	id := s.Begin(state.Execution{Code: "q"})
	s.Record(state.Call{ExecutionID: id, Args: []byte(`{"password":"x","q":"v"}`), Result: []byte(`{"n":12345678901234567890}`), Error: "said password=hunter2"})
	if err := s.Finish(state.Execution{ID: id, Answer: []byte(`{"result":{"token":"x","n":1}}`)}); err != nil {
		t.Fatal(err)
	}
	e, calls := show(t, s, id)
	if got, want := string(e.Answer), `{"result":{"token":"[redacted]","n":1}}`; got != want {
		t.Errorf("answer %s, want %s", got, want)
	}
	if list, err := s.List(t.Context(), state.Filter{}); err != nil || len(list) != 1 || list[0].Answer != nil {
		t.Errorf("a list has answers: %+v, %v", list, err)
	}
	if e.Code != "" {
		t.Errorf("code %q was not asked for", e.Code)
	}
	if got, want := string(calls[0].Args), `{"password":"[redacted]","q":"v"}`; got != want {
		t.Errorf("args %s, want %s", got, want)
	}
	if got, want := string(calls[0].Result), `{"n":12345678901234567890}`; got != want {
		t.Errorf("result %s, want %s", got, want)
	}
	if calls[0].Error != "said password=[redacted]" {
		t.Errorf("error %q", calls[0].Error)
	}
}

func (a Audits) code(t *testing.T) {
	s := a.open(t, a.New(t), state.Keep{Code: true})
	secret := s.Begin(state.Execution{Code: "const k = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'; q"})
	plain := s.Begin(state.Execution{Code: "return 1"})
	s.Record(state.Call{ExecutionID: plain, Args: []byte(`{}`), Result: []byte(`[]`)})
	for _, id := range []string{secret, plain} {
		if err := s.Finish(state.Execution{ID: id, Answer: []byte(`{"result":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	e, _ := show(t, s, secret)
	if e.Answer != nil {
		t.Errorf("answer %s was not asked for", e.Answer)
	}
	if want := "const k = '[redacted]'; q"; e.Code != want || e.Whole() {
		t.Errorf("code %q, whole %t; want %q, which is not whole", e.Code, e.Whole(), want)
	}
	e, calls := show(t, s, plain)
	if e.Code != "return 1" || !e.Whole() {
		t.Errorf("code %q, whole %t", e.Code, e.Whole())
	}
	if len(calls) != 1 || calls[0].Args != nil || calls[0].Result != nil {
		t.Errorf("calls %+v, want one without payloads", calls)
	}
}

// cut records texts of a megabyte wherever a record has a text.
func (a Audits) cut(t *testing.T) {
	long := strings.Repeat("ü", 1<<19)
	fillTexts := func(record any) {
		for _, f := range reflect.ValueOf(record).Elem().Fields() {
			switch {
			case f.Kind() == reflect.String:
				f.SetString(long)
			case f.Type() == reflect.TypeFor[[]byte]():
				f.SetBytes([]byte(`"` + long + `"`))
			}
		}
	}
	s := a.open(t, a.New(t), state.Keep{Code: true, Payloads: true})
	var e state.Execution
	var c state.Call
	var ev state.Event
	fillTexts(&e)
	fillTexts(&c)
	fillTexts(&ev)
	id := s.Begin(e)
	s.Record(c)
	s.Note(ev)
	e.ID = id
	if err := s.Finish(e); err != nil {
		t.Fatal(err)
	}
	texts := 0
	short := func(record any) {
		v := reflect.ValueOf(record)
		for i, f := range v.Fields() {
			limit := state.MaxName
			switch i.Name {
			case "Error", "Detail":
				limit = state.MaxError
			case "Code", "Args", "Result", "Answer":
				limit = state.MaxPayload
			}
			if i.Name == "Client" && v.Type() == reflect.TypeFor[state.Call]() {
				continue // of the execution, and not recorded again
			}
			if f.Kind() != reflect.String && f.Kind() != reflect.Slice {
				continue
			}
			if texts++; f.Len() == 0 || f.Len() > limit {
				t.Errorf("%s.%s has %d bytes, want some and at most %d", v.Type(), i.Name, f.Len(), limit)
			}
		}
	}
	err := s.Export(t.Context(), func(e state.Execution, calls []state.Call) error {
		if e.ID != "" {
			short(e)
		}
		for _, c := range calls {
			short(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := s.Events(t.Context(), time.Time{}, 0)
	if err != nil || len(events) != 1 {
		t.Fatalf("Events = %v, %v", events, err)
	}
	short(events[0])
	if texts < 20 {
		t.Errorf("only %d texts were looked at", texts)
	}
}
