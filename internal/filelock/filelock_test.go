package filelock

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLockOfAnotherIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path); err == nil || !strings.Contains(err.Error(), "wait for another broker") {
		t.Errorf("second lock: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		again, err := Lock(t.Context(), path)
		if err == nil {
			again()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Errorf("after unlock: %v", err)
	}
}

func TestLockInAFolderThatIsMissing(t *testing.T) {
	if _, err := Lock(t.Context(), filepath.Join(t.TempDir(), "none", "lock")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
