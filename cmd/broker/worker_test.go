package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/doctor"
	"github.com/mcpbroker/mcpbroker/internal/workertest"
)

// The broker runs scripts with broker-worker where that is beside it, else
// itself, and doctor says which.
func TestBrokerWorkerIsUsedWhereItIs(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the broker of the tests is a copy of the test binary under another name")
	}
	dir := t.TempDir()
	broker := filepath.Join(dir, "broker")
	if err := copyOf(broker); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(config, []byte(`{"mcpServers": {}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func() string {
		t.Helper()
		var d doctor.Diagnosis
		if err := json.Unmarshal(output(t, exec.CommandContext(t.Context(), broker, "doctor", "--json", "--config", config, "--state-dir", dir)), &d); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Checks, func(c doctor.Check) bool { return c.Name == "sandbox program" })
		if i < 0 || !d.Checks[i].OK {
			t.Fatalf("doctor says %+v", d.Checks)
		}
		return d.Checks[i].Detail
	}
	runs := func() {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), broker, "exec", "--config", config, "--state-dir", dir, "-")
		cmd.Stdin = strings.NewReader("return 6 * 7")
		if out := output(t, cmd); strings.TrimSpace(string(out)) != "42" {
			t.Errorf("a script printed %s", out)
		}
	}
	worker := filepath.Join(dir, "broker-worker")
	if got := program(); !strings.Contains(got, "broker itself: there is no "+worker) {
		t.Errorf("without broker-worker, doctor says %s", got)
	}
	runs()
	if _, err := workertest.Build(dir); err != nil {
		t.Fatal(err)
	}
	if got := program(); got != worker {
		t.Errorf("beside broker-worker, doctor says %s", got)
	}
	runs()
	if err := os.WriteFile(worker, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := program(); !strings.Contains(got, "is not used: it is not a Go program") {
		t.Errorf("beside another broker-worker, doctor says %s", got)
	}
	runs()
}

// copyOf makes path this program.
func copyOf(path string) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if os.Link(own, path) == nil {
		return nil
	}
	in, err := os.Open(own)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
