package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Doctor does not wait long for a server whose tools are known; it waits for all others,
// and what fails by itself keeps its cause.
func TestDoctorIsNotHeldUpByAKnownServer(t *testing.T) {
	broken := errors.New("exit status 1")
	for _, tt := range []struct {
		name         string
		wait, starts time.Duration
		known        bool
		fails        error
		want         error
		took         time.Duration
	}{
		{"known and slow", 10 * time.Second, 45 * time.Second, true, nil, errStillStarting, 10 * time.Second},
		{"known and quick", 10 * time.Second, time.Second, true, nil, nil, time.Second},
		{"known and broken", 10 * time.Second, time.Second, true, broken, broken, time.Second},
		{"never listed", 10 * time.Second, 45 * time.Second, false, nil, nil, 45 * time.Second},
		{"named", 0, 45 * time.Second, true, nil, nil, 45 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				list := patient(t.Context(), tt.wait, tt.known, func(ctx context.Context) []upstream.Status {
					select {
					case <-time.After(tt.starts):
						return []upstream.Status{{Name: "s", Err: tt.fails, Took: tt.starts}}
					case <-ctx.Done():
						return []upstream.Status{{Name: "s", Err: tt.fails}} // as it was known before
					}
				})
				if took := time.Since(began); took != tt.took || len(list) != 1 || list[0].Err != tt.want {
					t.Errorf("after %s: %v, want %v after %s", took, list, tt.want, tt.took)
				}
			})
		})
	}
}

// A search explains the servers that it names.
func TestMentions(t *testing.T) {
	for _, tt := range []struct {
		query, name string
		want        bool
	}{
		{"notion page", "notion", true},
		{"list github issues", "github-work", true},
		{"Read a FILE", "file_store", true},
		{"a list", "a", false}, // too short to mean a server
		{"resize a picture", "notion", false},
		{"notional value", "notion", false},
	} {
		if got := mentions(tt.query, tt.name); got != tt.want {
			t.Errorf("mentions(%q, %q) = %v", tt.query, tt.name, got)
		}
	}
}
