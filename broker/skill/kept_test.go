package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills/workflow"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/files"
)

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
