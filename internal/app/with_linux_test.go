package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/learned"
	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/state"
)

// openBelow returns the files below dir that this process has open.
func openBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			names = append(names, to)
		}
	}
	return names
}

// What a command does with state closes it, also if the command fails; the first error is
// returned as it is.
func TestWithClosesState(t *testing.T) {
	dir := t.TempDir()
	file, stateDir := filepath.Join(dir, "servers.json"), filepath.Join(dir, "state")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, ctx := testSetup(file, stateDir), t.Context()
	if _, err := s.OpenRecord(ctx); err == nil || !strings.Contains(err.Error(), "hint: broker serve and broker exec create it") {
		t.Errorf("a record that was never written: %v", err)
	}
	s.Note(ctx, state.Event{Kind: state.EventToken, Name: "a"}) // creates the record
	failed := errors.New("failed")
	opened := 0
	do := func() error {
		opened = max(opened, len(openBelow(t, stateDir)))
		return failed
	}
	for name, with := range map[string]func() error{
		"WithState": func() error {
			return s.WithState(ctx, func(_ *config.Config, st *State) error {
				_, err := st.Values().Keys(ctx, state.Local)
				return errors.Join(err, do())
			})
		},
		"WithLearned": func() error {
			return s.WithLearned(ctx, func(types *learned.Store) error {
				_, err := types.List()
				return errors.Join(err, do())
			})
		},
		"WithRuns": func() error {
			return s.WithRuns(ctx, func(runs state.RunStore, _ api.Tokens) error {
				_, err := runs.Runs(ctx, 1)
				return errors.Join(err, do())
			})
		},
		"OpenRecord": func() error {
			store, err := s.OpenRecord(ctx)
			if err != nil {
				return err
			}
			_, err = store.List(ctx, state.Filter{Limit: 1})
			return errors.Join(err, do(), store.Close())
		},
		"PruneRecord": func() error {
			n, err := s.PruneRecord(ctx, time.Now())
			if n != 0 {
				t.Errorf("%d executions were removed, and there are none", n)
			}
			return errors.Join(err, failed)
		},
	} {
		if err := with(); !errors.Is(err, failed) {
			t.Errorf("%s returns %v", name, err)
		}
		if names := openBelow(t, stateDir); len(names) > 0 {
			t.Errorf("%s leaves open: %q", name, names)
		}
	}
	if opened == 0 {
		t.Error("nothing was open while a function ran")
	}
}
