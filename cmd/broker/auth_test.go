package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
)

// openPage is a browser.
func openPage() {
	if err := fakeauth.Browser(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Somebody who works on another machine opens the printed address there, and
// pastes where their browser ends up.
func TestLoginWithoutABrowser(t *testing.T) {
	remote := fakeauth.Start()
	defer remote.Close()
	dir := t.TempDir()
	path := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"remote": {"url": "`+remote.URL+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROKER_KEYRING", "off")
	stdin, typed := io.Pipe()
	shown, stderr := io.Pipe()
	defer stderr.Close()
	go func() {
		lines := bufio.NewScanner(shown)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), remote.Issuer) {
				fmt.Fprintln(typed, whereItEnds(t, lines.Text()))
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout strings.Builder
	a := &env{IO: cli.IO{In: stdin, Out: &stdout, Err: stderr}}
	code := runArgs(ctx, a, []string{"auth", "login", "remote", "--no-browser", "--config", path, "--state-dir", dir})
	if code != cli.ExitOK || !strings.HasPrefix(stdout.String(), "signed in to remote at "+remote.Issuer+", renewed by itself; the token is in "+dir) {
		t.Errorf("code %d, stdout %q", code, stdout.String())
	}
	if strings.Contains(stdout.String(), fakeauth.Secret) {
		t.Errorf("a token is printed: %s", stdout.String())
	}
}

func whereItEnds(t *testing.T, page string) string {
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Get(page)
	if err != nil {
		t.Error(err)
		return ""
	}
	resp.Body.Close()
	return resp.Header.Get("Location")
}
