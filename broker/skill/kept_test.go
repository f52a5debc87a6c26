package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

// The engines of many owners are bounded; those in use stay.
func TestEnginesAreBounded(t *testing.T) {
	w, err := workflow.Parse([]byte(`{"start": "a", "steps": {"a": {"prompt": "x"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var all engines
	k, o, log := &skills.Skill{}, &Options{}, slog.New(slog.DiscardHandler)
	first := all.engine("first", k, w, o, log)
	for i := range maxEngines + 10 {
		all.engine(fmt.Sprint("owner", i), k, w, o, log)
		if all.engine("first", k, w, o, log) != first {
			t.Fatalf("an engine in use was dropped for owner %d", i)
		}
	}
	if len(all.byKey) > maxEngines {
		t.Errorf("%d engines", len(all.byKey))
	}
}

func TestKeptSessions(t *testing.T) {
	docs := files.OpenDocuments(t.TempDir())
	open := func(owner string) keptSessions {
		return keptSessions{docs, keyOf(owner), slog.New(slog.DiscardHandler)}
	}
	one, two, other := open("o"), open("o"), open("p")
	id, err := one.New()
	if err != nil {
		t.Fatal(err)
	}
	if events, err := two.Load(id); err != nil || len(events) != 0 {
		t.Errorf("a new one has %d events, %v", len(events), err)
	}
	// More than one part, written by two at once.
	const each = 30
	value := []byte(`"` + strings.Repeat("x", 5<<10) + `"`)
	var wg sync.WaitGroup
	for _, s := range []keptSessions{one, two} {
		wg.Go(func() {
			for n := range each {
				unlock, err := s.Lock(t.Context(), id)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Append(id, workflow.Event{Kind: workflow.Came, Step: fmt.Sprint(n), Value: value}); err != nil {
					t.Error(err)
				}
				unlock()
			}
		})
	}
	wg.Wait()
	events, err := one.Load(id)
	if err != nil || len(events) != 2*each || len(events[each].Value) != len(value) {
		t.Errorf("%d events, %v; want %d", len(events), err, 2*each)
	}
	if list, err := docs.ListDocuments(t.Context(), ""); err != nil || len(list) < 4 {
		t.Errorf("%d parts, %v; want some", len(list), err)
	}
	for _, unknown := range []string{strings.Repeat("0", 32), "", "x.y", id[:31], "%"} {
		if _, err := one.Load(unknown); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Load(%q) = %v, want that there is none", unknown, err)
		}
	}
	if err := errors.Join(other.Append(id, workflow.Event{})); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another owner: %v", err)
	}
	if _, err := other.Lock(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another owner: %v", err)
	}
}

// Models are not told where the sessions are, and the log is.
func TestKeptSessionsHideWhereTheyAre(t *testing.T) {
	var log strings.Builder
	s := keptSessions{broken{}, "o", slog.New(slog.NewTextHandler(&log, nil))}
	_, err := s.New()
	if err == nil || strings.Contains(err.Error(), "db.example") || !strings.Contains(log.String(), "db.example") {
		t.Errorf("%v; the log has %s", err, &log)
	}
}

type broken struct{ state.Documents }

func (broken) ListDocuments(context.Context, string) ([]state.DocumentInfo, error) {
	return nil, errors.New("list documents in the database broker on db.example:5432: it is away")
}

// Two processes share the sessions: what one of them does in a session, the other
// one waits for.
func TestProcessesTakeTurnsInASession(t *testing.T) {
	dir := t.TempDir()
	var calls atomic.Int32
	process := func() (*workflow.Engine, keptSessions) {
		w, err := workflow.Parse([]byte(`{"start": "a", "steps": {"a": {"prompt": "x", "next": "b"}, "b": {"action": {"tool": "pay"}, "prompt": "y"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		kept := keptSessions{files.OpenDocuments(dir), "o", slog.New(slog.DiscardHandler)}
		return workflow.NewEngine(w, &workflow.Options{Sessions: kept,
			Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
				calls.Add(1)
				return json.RawMessage(`1`), nil
			}}), kept
	}
	first, kept := process()
	id := first.Start(t.Context(), nil).Session
	unlock, err := kept.Lock(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := process()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if r := second.Advance(ctx, id, workflow.Reply{Step: "a"}); r.Status != workflow.StatusError || !*r.Retry ||
		!strings.Contains(r.Message, "the session is in use: wait for another broker") || strings.Contains(r.Message, dir) {
		t.Errorf("a session that is in use: %s", r.Message)
	}
	unlock()
	var wg sync.WaitGroup
	for _, e := range []*workflow.Engine{first, second} {
		wg.Go(func() { e.Advance(t.Context(), id, workflow.Reply{Step: "a"}) })
	}
	wg.Wait()
	if n := calls.Load(); n != 1 {
		t.Errorf("the action was done %d times, want once", n)
	}
	if _, err := kept.Lock(t.Context(), strings.Repeat("a", 32)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock of an unknown session: %v", err)
	}
}

// Sessions do not pile up, nor do their locks.
func TestOldSessionsAreForgotten(t *testing.T) {
	dir := t.TempDir()
	s := keptSessions{files.OpenDocuments(dir), "o", slog.New(slog.DiscardHandler)}
	for n := range maxKept + 3 {
		for _, name := range []string{".000000.json", ".000001.json", ".000000.lock"} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("o.%032x%s", n, name)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.New(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3*(maxKept-1)+1 {
		t.Errorf("%d files, %v; want those of %d sessions and one of the new one", len(left), err, maxKept-1)
	}
	old := time.Now().Add(-maxAge - time.Hour)
	for _, f := range left {
		if err := os.Chtimes(filepath.Join(dir, f.Name()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.New(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files, %v; want that of the new one", len(left), err)
	}
}
