package sqlite

import (
	"os"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/statetest"
)

func TestOpenMarksWhatAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	c := statetest.StartChild(t, dir)
	c.Kill(t)
	open(t, dir, nil)
	reader, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	eventually.True(t, "the row itself says interrupted and its owner is forgotten", func() bool {
		var status string
		var owners int
		err := reader.db.QueryRowContext(t.Context(), "SELECT status, (SELECT count(*) FROM owners) FROM executions WHERE id = ?", c.ID).Scan(&status, &owners)
		if err != nil {
			t.Fatal(err)
		}
		return status == state.StatusInterrupted && owners == 0
	})
	if e, _ := show(t, reader, c.ID); e.Ended.IsZero() || e.Calls != 2 || e.BytesIn != 200 {
		t.Errorf("interrupted execution %+v, want the end, calls and bytes that are known", e)
	}
}

func TestOwnerIsKnownByMoreThanItsNumber(t *testing.T) {
	me, now := self(), time.Now()
	gone := me
	gone.start += "0"
	rebooted := me
	rebooted.boot = "another"
	container := me
	container.space = "another"
	for _, tt := range []struct {
		name string
		p    process
		last time.Time
		want bool
	}{
		{"this process", me, now, true},
		{"another that had its number", gone, now, false},
		{"one before the system was started anew", rebooted, now, false},
		{"one in another container, lately", container, now, true},
		{"one in another container, long ago", container, now.Add(-2 * foreignGrace), false},
	} {
		if got := tt.p.alive(tt.last); got != tt.want {
			t.Errorf("%s: alive = %t, want %t", tt.name, got, tt.want)
		}
	}
	if start, exists := processStart(os.Getpid()); !exists {
		t.Errorf("processStart(self) = %q, %t", start, exists)
	}
	if _, exists := processStart(1 << 30); exists {
		t.Error("a process that cannot be exists")
	}
}
