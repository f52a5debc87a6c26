package sqlite

import (
	"os"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/ramdisk"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

var audits = statetest.Audits{
	New: func(t testing.TB) string { return t.TempDir() },
	Open: func(at string, keep state.Keep) (state.Audit, error) {
		return Open(at, &Options{NoCode: !keep.Code, Payloads: keep.Payloads})
	},
}

func TestMain(m *testing.M) {
	if statetest.IsChild() {
		audits.Main(m)
	}
	os.Exit(ramdisk.Run(func() int { return audits.Play(m) }))
}

func TestAuditSuite(t *testing.T) { audits.Run(t) }

func open(t *testing.T, dir string, o *Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func show(t *testing.T, s *Store, id string) (state.Execution, []state.Call) {
	t.Helper()
	e, calls, err := s.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return e, calls
}
