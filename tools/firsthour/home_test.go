package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Every entry that is probed is in the file of its client, and is missed when it has
// left the file.
func TestEntriesAreInTheFiles(t *testing.T) {
	h, err := makeHome(t.Context(), filepath.Join(t.TempDir(), "home"), "")
	if err != nil {
		t.Fatal(err)
	}
	var clients []string
	for _, e := range h.entries {
		if !h.stays(e) {
			t.Errorf("%s is not in the file of its client", e.key())
		}
		if !slices.Contains(clients, e.client) {
			clients = append(clients, e.client)
		}
	}
	if len(clients) != 6 || len(h.entries) < 20 {
		t.Errorf("%d clients with %d entries", len(clients), len(h.entries))
	}
	for name := range files {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range h.entries {
		if h.stays(e) {
			t.Errorf("%s has left its file, and is not missed", e.key())
		}
	}
}
