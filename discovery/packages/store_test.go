package packages

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// installArg makes this program install the package of the command behind it,
// with its own environment.
const installArg = "install-and-run"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == installArg {
		fmt.Println("installing")
		_, err := Open(os.Args[2], nil).Command(context.Background(), launch.Command{Program: os.Args[3], Args: os.Args[4:], Env: os.Environ()})
		fmt.Println("installed", err)
		return
	}
	os.Exit(m.Run())
}

func TestPackageIsInstalledOnceAndRunsWithoutNPX(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publishGreeter(t, "@a/greeter", "1.0.0")
	dir, c := t.TempDir(), r.command(t, "-y", "@a/greeter@1.0.0", "one", "two words")
	for i := range 2 {
		before := r.requests()
		direct, err := newStore(t, dir).Command(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(direct.Program); name != "node" && name != "node.exe" {
			t.Errorf("it is started by %s", direct.Program)
		}
		if got := prints(t, direct); got != "1.0.0 one two words" {
			t.Errorf("it prints %q", got)
		}
		if asked := r.requests() - before; (asked == 0) != (i == 1) {
			t.Errorf("start %d: %d requests", i, asked)
		}
	}
	found, _ := filepath.Glob(filepath.Join(dir, "npm", "@a+greeter@1.0.0-*-*-*"))
	if left, _ := filepath.Glob(filepath.Join(dir, "npm", ".*.tmp")); len(found) != 1 || len(left) > 0 {
		t.Errorf("folders %q, temporary ones %q", found, left)
	}
}

// age moves the last query of the registry to yesterday.
func age(t *testing.T, s *Store, spec Spec) {
	t.Helper()
	k := s.known(spec)
	k.Checked = time.Now().Add(-checkEvery - time.Hour)
	if err := s.note(spec, s.root(spec), k); err != nil {
		t.Fatal(err)
	}
}

// A package without a version stays at the last one until the registry is asked a day
// later, in the background.
func TestNewerVersionIsUsedFromTheNextStart(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publishGreeter(t, "greeter", "1.0.0")
	dir, c := t.TempDir(), r.command(t, "greeter")
	start := func(s *Store) string {
		t.Helper()
		direct, err := s.Command(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return prints(t, direct)
	}
	s := newStore(t, dir)
	s.delay = 0
	if got := start(s); got != "1.0.0" {
		t.Errorf("first start: %q", got)
	}
	r.publishGreeter(t, "greeter", "1.1.0")
	before := r.requests()
	start(s)
	s.Close()
	if r.requests() != before {
		t.Error("the registry is asked again on the day of the installation")
	}
	spec, _ := Parse(c.Program, c.Args)
	age(t, s, spec)
	s = newStore(t, dir)
	s.delay = 0
	if got := start(s); got != "1.0.0" {
		t.Errorf("a start of the next day: %q", got)
	}
	eventually.True(t, "the newer version is installed", func() bool { return s.Version(spec) == "1.1.0" })
	if got := start(s); got != "1.1.0" {
		t.Errorf("the start after it: %q", got)
	}
	before = r.requests()
	s.Close()
	start(newStore(t, dir))
	if r.requests() != before {
		t.Error("the registry is asked twice in a day")
	}
}

// Whenever an installation is killed, the next one is whole.
func TestKilledInstallationsBreakNothing(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	deps := make([]string, 12)
	for i := range deps {
		name := fmt.Sprintf("dep%d", i)
		files := map[string]string{"index.js": "module.exports = 1\n"}
		for j := range 20 {
			files[fmt.Sprintf("lib/%d.js", j)] = strings.Repeat("// nothing\n", 200)
		}
		r.publish(t, name, "1.0.0", "", files)
		deps[i] = fmt.Sprintf("%q: \"1.0.0\"", name)
	}
	r.publish(t, "many", "1.0.0", `, "bin": "run.js", "dependencies": {`+strings.Join(deps, ", ")+"}", map[string]string{
		"run.js": "let n = 0\nfor (let i = 0; i < 12; i++) n += require('dep' + i)\nconsole.log(n)\n",
	})
	dir, c := t.TempDir(), r.command(t, "many@1.0.0")
	var took time.Duration
	const kills = 4
	for i := range kills + 1 {
		cmd := exec.Command(os.Args[0], append([]string{installArg, dir, c.Program}, c.Args...)...)
		cmd.Env, cmd.Dir = c.Env, c.Dir
		if i == 0 { // measures, and fills npm's cache; of another folder
			cmd.Args[2] = t.TempDir()
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		spawn.Group(cmd)
		if err := spawn.Start(cmd); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		_, _ = lines.ReadString('\n') // it begins
		start := time.Now()
		if i == 0 {
			if said, _ := lines.ReadString('\n'); said != "installed <nil>\n" {
				t.Fatalf("it said %q", said)
			}
			took = time.Since(start)
		} else {
			time.Sleep(took * time.Duration(i) / (kills + 1))
		}
		_ = spawn.Kill(cmd.Process)
		_ = cmd.Wait()
	}
	direct, err := newStore(t, dir).Command(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := prints(t, direct); got != "12" {
		t.Errorf("it prints %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "npm", ".*.tmp")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// What cannot be installed runs as it is written, and says why; the next start
// does not try again at once.
func TestFailedInstallationLeavesTheCommand(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publish(t, "shell", "1.0.0", `, "bin": "run.sh"`, map[string]string{"run.sh": "#!/bin/sh\n"})
	r.publish(t, "none", "1.0.0", "", map[string]string{"index.js": ""})
	dir := t.TempDir()
	s := newStore(t, dir)
	for name, want := range map[string]string{"missing": "404", "shell": "not a script that only needs node", "none": `has no program "none"`} {
		c := r.command(t, "-y", name)
		for range 2 {
			got, err := s.Command(t.Context(), c)
			if err == nil || errors.Is(err, ErrNotPlain) || !strings.Contains(err.Error(), want) || !slices.Equal(got.Args, c.Args) {
				t.Errorf("%s: %q, %v", name, got.Args, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "npm", "[a-z]*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestUnusedVersionsAreRemoved(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, age := range map[string]time.Duration{"old@1.0.0-x": keepUnused + time.Hour, "new@1.0.0-x": keepUnused - time.Hour} {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	newStore(t, root).prune(root)
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 1 || left[0].Name() != "new@1.0.0-x" {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestVersionsFileOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir)
	spec, err := Parse("npx", []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "npm"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "[]", "null", `{"": {"version": "../../x"}}`, `{"": {"version": "1"}}`} {
		if err := os.WriteFile(s.versionsFile(spec), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.Version(spec); got != "" {
			t.Errorf("%s: version %q", text, got)
		}
	}
}
