package oauth

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/fakeauth"
	"github.com/mcpbroker/mcpbroker/internal/pipes"
)

// Tests run this binary as another broker: it waits for a line on stdin and
// prints the token that it would send.
func TestMain(m *testing.M) {
	if url := os.Getenv("OAUTH_TEST_URL"); url != "" {
		os.Exit(printToken(url, os.Getenv("OAUTH_TEST_DIR")))
	}
	os.Exit(m.Run())
}

func printToken(url, dir string) int {
	h := newIn(dir, &Options{Keyring: &memory{err: ErrNoKeyring}}).Handler(Server{Name: "remote one", URL: url})
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	source, err := h.TokenSource(context.Background())
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	token, err := source.Token()
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println(token.AccessToken)
	return 0
}

func TestProcessesRenewOnce(t *testing.T) {
	w := newWorld(t)
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Lifetime = time.Second }) // too short to be used
	w.login()
	w.remote.Set(func(b *fakeauth.Behaviour) { b.Lifetime = time.Hour })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type other struct {
		start func()
		lines *bufio.Scanner
		wait  func() error
	}
	var others []other
	for range 4 {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), "OAUTH_TEST_URL="+w.remote.URL, "OAUTH_TEST_DIR="+w.dir)
		in, out := pipes.Of(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		o := other{start: func() { in.Close() }, lines: bufio.NewScanner(out), wait: cmd.Wait}
		if !o.lines.Scan() {
			t.Fatal("another broker does not start")
		}
		others = append(others, o)
	}
	for _, o := range others {
		o.start()
	}
	tokens := make(map[string]bool)
	for _, o := range others {
		o.lines.Scan()
		tokens[o.lines.Text()] = true
		if err := o.wait(); err != nil {
			t.Errorf("%v: %s", err, o.lines.Text())
		}
	}
	if c := w.remote.Counts(); c.Refreshed != 1 || c.Reused != 0 {
		t.Errorf("counts = %+v, want one renewal", c)
	}
	for token := range tokens {
		if len(tokens) != 1 || !strings.HasPrefix(token, "access-"+fakeauth.Secret) {
			t.Errorf("tokens = %v, want one", tokens)
		}
	}
}
