package upstream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
)

func TestGoodServerIsListedAndCalled(t *testing.T) {
	p := newPool(t, nil, fake("good", fakeupstream.Good))
	p.Start(t.Context())
	if err := p.Wait(t.Context(), "good"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"add", "big", "echo", "fail", "progress", "wait"}, toolNames(t, p)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	l := p.Listings()[0]
	if l.Transport != "stdio" || l.Version != "good 1.2.3" || l.Instructions != "Call echo first." || l.Description != "A good server" || l.Protocol != modernSince {
		t.Errorf("listing = %+v", l)
	}
	got, err := p.Call(t.Context(), "good", "echo", json.RawMessage(`{"b": 9007199254740993, "a": "<&>"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"b":9007199254740993,"a":"<&>"}`; strings.ReplaceAll(textOf(t, got), " ", "") != want {
		t.Errorf("echo = %s, want %s", got, want)
	}
	st := p.Status()[0]
	if st.State != StateReady || st.PID == 0 || st.Tools != 6 || st.Took <= 0 {
		t.Errorf("status = %+v", st)
	}
}
