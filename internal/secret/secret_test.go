package secret

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// The test binary plays the programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "play" {
		play(os.Args[2])
	}
	os.Exit(m.Run())
}

func play(what string) {
	switch what {
	case "answer":
		fmt.Println("s3cret value")
	case "count": // says so in a file
		f, err := os.OpenFile(os.Args[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			os.Exit(9)
		}
		fmt.Fprintln(f, "run")
		f.Close()
		fmt.Print("once")
	case "fail":
		fmt.Println("s3cret")
		fmt.Fprintln(os.Stderr, "first line\n\x1b[31mnot signed in, said s3cret")
		os.Exit(3)
	case "much":
		for {
			if _, err := fmt.Print(strings.Repeat("x", 4096)); err != nil {
				os.Exit(0)
			}
		}
	case "nothing":
	}
	os.Exit(0)
}

func TestPrograms(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, want, err string }{
		{"answer", "s3cret value", ""},
		{"nothing", "", "printed nothing"},
		{"much", "", "more than 64 KiB"},
		{"fail", "", "exit status 3: "},
	} {
		got, err := new(Programs).Get("command://"+tt.name, []string{me, "play", tt.name})
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.err)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: the error shows %q", tt.name, err)
		}
	}
	if _, err := new(Programs).Get("command://no-such-program", []string{"no-such-program"}); err == nil || !strings.Contains(err.Error(), "no program no-such-program") {
		t.Errorf("no such program: %v", err)
	}
}

func TestOneRunForAllWhoAsk(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir() + "/runs"
	var p Programs
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := p.Get("command://count", []string{me, "play", "count", runs}); got != "once" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(runs)
	if err != nil || string(text) != "run\n" {
		t.Errorf("runs: %q, %v", text, err)
	}
}
