package worker

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/workertest"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// buildWorker builds broker-worker into a directory beside an empty "broker", and
// returns the path of that and what the former was built of.
func buildWorker(t *testing.T) (own string, info *debug.BuildInfo) {
	t.Helper()
	dir := t.TempDir()
	name, err := workertest.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	own = filepath.Join(dir, "broker")
	if err := os.WriteFile(own, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	info, err = buildinfo.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return own, info
}

func TestProgramOfItsOwn(t *testing.T) {
	own, info := buildWorker(t)
	p := findProgram(own, info)
	if !p.used() {
		t.Fatalf("broker-worker beside %s is not used: %v", own, *p.why.Load())
	}
	t.Run("no code to misuse", func(t *testing.T) { testNoCodeToMisuse(t, p.name) })
	link := filepath.Join(t.TempDir(), "broker")
	if err := os.Symlink(own, link); err == nil && !findProgram(link, info).used() {
		t.Error("broker-worker is not found where a link leads to")
	}

	r := New(&Options{Executable: p.path, Spares: -1})
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{Code: "const n: number = 1; return n + 1"})
	if err != nil || res.ExitCode != sandbox.ExitOK || string(res.Value) != "2" {
		t.Errorf("%+v, %v", res, err)
	}
	if text, err := exec.Command(p.name).CombinedOutput(); err == nil || !strings.Contains(string(text), "broker starts this program") {
		t.Errorf("started by hand: %v, %s", err, text)
	}

	other := func(change func(*debug.BuildInfo)) *program {
		b := *info
		change(&b)
		return findProgram(own, &b)
	}
	if err := os.Chtimes(p.name, time.Time{}, time.Now().Add(-2*builtTogether)); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "broker-worker")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]*program{
		"there is no":               findProgram(filepath.Join(t.TempDir(), "broker"), info),
		"is not used: it has versi": other(func(b *debug.BuildInfo) { b.Main.Version = "v0.0.1" }),
		"is not used: it was built": other(func(b *debug.BuildInfo) { b.GoVersion = "go1.0" }),
		"is not that of this progr": other(func(b *debug.BuildInfo) {
			d := *b.Deps[0]
			d.Sum = "h1:other"
			b.Deps = append([]*debug.Module{&d}, b.Deps[1:]...)
		}),
		"it is not a Go program":  findProgram(filepath.Join(filepath.Dir(text), "broker"), info),
		"older than this program": other(func(b *debug.BuildInfo) {}),
	} {
		if p.used() {
			t.Errorf("broker-worker is used, want %q", want)
		} else if why := (*p.why.Load()).Error(); !strings.Contains(why, want) {
			t.Errorf("broker-worker is not used: %s; want %q", why, want)
		}
	}
}

// testNoCodeToMisuse looks for what a script must not find that has taken its
// process over.
func testNoCodeToMisuse(t *testing.T, path string) {
	if runtime.GOOS != "linux" {
		t.Skip("reads an ELF file")
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range symbols {
		found = found || strings.HasPrefix(s.Name, "github.com/dop251/goja.")
		for _, bad := range []string{"net.Dial", "net.Listen", "net/http.(*Client).", "net/http.(*Server).Serve", "os/exec.(*Cmd).Start", "os.StartProcess", "database/sql."} {
			if strings.HasPrefix(s.Name, bad) {
				t.Errorf("broker-worker has %s", s.Name)
			}
		}
	}
	if !found {
		t.Error("the symbols of the program are not found")
	}
}

// useProgram makes path the program that is beside this one, until t ends.
func useProgram(t *testing.T, p *program) {
	before := beside
	beside = func() *program { return p }
	t.Cleanup(func() { beside = before })
}

func TestProgramThatDoesNotStart(t *testing.T) {
	f, err := exec.LookPath("false")
	if err != nil {
		t.Skip(err)
	}
	useProgram(t, &program{name: f, path: f})
	if path, why := Program(); path != f || why != nil {
		t.Fatalf("Program = %s, %v", path, why)
	}
	r := New(&Options{Spares: -1})
	defer r.Close()
	for range 2 {
		if res, err := r.Run(t.Context(), sandbox.Request{Code: "return 1 + 1"}); err != nil || string(res.Value) != "2" {
			t.Errorf("%+v, %v", res, err)
		}
	}
	if path, why := Program(); path == f || why == nil || Executable() != ownPath() {
		t.Errorf("Program = %s, %v after it failed", path, why)
	}

	// Where nothing starts, it is not to blame.
	useProgram(t, &program{name: f, path: f})
	s := New(&Options{Spares: -1, Args: []string{"dies"}})
	defer s.Close()
	if _, err := s.Run(t.Context(), sandbox.Request{Code: "1"}); err == nil || !beside().used() {
		t.Errorf("error %v; broker-worker is used: %v", err, beside().used())
	}
}
