package daemon

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"
)

// Report implements Reporter.
func (e *echo) Report() json.RawMessage { return e.report }

// A status contains the host's description of the servers, unless that is too long for
// a client.
func TestStatusReportsServers(t *testing.T) {
	h := newHome(t)
	c := h.client(build("one", 1))
	c.request(1, "initialize")
	c.want(`"one"`)
	long := json.RawMessage(`"` + strings.Repeat("x", maxServerBytes) + `"`)
	for _, report := range []json.RawMessage{nil, json.RawMessage(`[{"name":"a"}]`), json.RawMessage(`[]`), long} {
		h.daemons()[0].report = report
		w, err := Ask(h.dir, OpStatus, Build{})
		if err != nil {
			t.Fatal(err)
		}
		want := string(report)
		if len(report) > maxServerBytes {
			want = ""
		}
		if got := string(w.Status.Servers); got != want || len(w.Status.Clients) != 1 {
			t.Errorf("got %d bytes, want %d; %d clients", len(got), len(want), len(w.Status.Clients))
		}
	}
}

// A daemon that does not answer in the caller's time limit is given up.
func TestAskWithin(t *testing.T) {
	h := newHome(t)
	d, err := Claim(h.dir, build("silent", 1), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer d.release()
	for _, wait := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		began := time.Now()
		if _, err := AskWithin(h.dir, OpStatus, Build{}, wait); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > helloTime {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	}
}
