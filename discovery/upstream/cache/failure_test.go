package cache

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A stored failure is ignored if it is damaged or comes from the future.
func TestDamagedFailuresAreIgnored(t *testing.T) {
	now, k, c := time.Now(), Key{Server: "s", ID: "1", Revision: 7}, Dir(t.TempDir())
	keep := func(change func(r *Failure)) {
		r := Failure{State: StateFailed, Err: "no", At: now, Count: 1, Next: now.Add(time.Minute)}
		change(&r)
		if err := c.KeepFailure(k, &r); err != nil {
			t.Fatal(err)
		}
	}
	keep(func(*Failure) {})
	if r, ok := c.Failure(k, now); !ok || r.Err != "no" {
		t.Fatalf("got %+v, %v", r, ok)
	}
	for name, change := range map[string]func(*Failure){
		"state":     func(r *Failure) { r.State = "ready" },
		"no error":  func(r *Failure) { r.Err = "" },
		"no count":  func(r *Failure) { r.Count = 0 },
		"at":        func(r *Failure) { r.At = now.Add(time.Hour) },
		"next":      func(r *Failure) { r.Next = now.Add(2 * MaxRest) },
		"long text": func(r *Failure) { r.State, r.Err = "", strings.Repeat("x", 1<<20) },
	} {
		keep(change)
		if r, ok := c.Failure(k, now); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, text := range []string{"", "{", "null", "[1]", `{"version":2}`} {
		if err := os.WriteFile(c.failurePath(k), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, ok := c.Failure(k, now); ok {
			t.Errorf("%q: %+v", text, r)
		}
	}
	if err := c.KeepFailure(k, nil); err != nil || c.Failed(k) {
		t.Error(err)
	}
	if err := c.KeepFailure(k, nil); err != nil {
		t.Errorf("twice: %v", err)
	}
}
