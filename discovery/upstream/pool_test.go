package upstream

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mcpbroker/mcpbroker/discovery"
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

// Whoever sees the tools of a server sees that there is something new, also
// before the pool's owner has been told.
func TestWhatIsListedIsCountedAlready(t *testing.T) {
	telling, told := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p := newPool(t, &Options{OnListing: func(discovery.Listing) {
		once.Do(func() {
			close(telling)
			<-told
		})
	}}, fake("s", fakeupstream.Good))
	defer close(told)
	before := p.Learnt()
	p.Start(t.Context())
	<-telling
	if err := p.Wait(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if n := len(p.Listings()); n != 1 || p.Learnt() == before {
		t.Errorf("%d listings; counted %d, before %d", n, p.Learnt(), before)
	}
}
