package upstream

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/fakeupstream"
	"github.com/mcpbroker/mcpbroker/internal/pipes"
)

// fakeInstall is what npx and uvx do with a package that they do not have: they
// write files, warn, and when somebody has opened the gate they write the last
// one and start the server. SIGTERM makes them clean up.
const fakeInstall = `#!/bin/sh
cd "$(dirname "$0")" || exit
trap 'rm -r tree; exit 143' TERM
[ -e tree ] && [ ! -e tree/whole ] && echo > overlap
mkdir tree
until [ -e gate ]; do sleep 0.02; done
echo npm warn deprecated >&2 || exit
echo npm warn deprecated >&2 || exit
echo > tree/whole
trap '' TERM
`

// installer writes such a runner into a folder of its own and returns its path.
func installer(t *testing.T, name, start string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell: ", err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(fakeInstall+start+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func exists(path, name string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(path), name))
	return err == nil
}

func openGate(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What npx, uvx or pipx installs is whole whenever and however its broker ends,
// and afterwards neither the server nor the guard is left, also of a server that
// ends with no signal.
func TestInstallationOutlivesItsBroker(t *testing.T) {
	t.Parallel()
	server := fakeupstream.Command() + " " + strings.Join(fakeupstream.Args(fakeupstream.IgnoresTerm), " ")
	npx := "npm_lifecycle_event=npx sh -c '" + server + "'"
	kill := func(g *guarded) { _ = g.cmd.Process.Kill() }
	end := func(g *guarded) { _ = g.in.Close() }
	for _, c := range []struct {
		name, runner, start string
		stop                func(*guarded)
	}{
		{"npx, killed", "npx", npx, kill},
		{"npx, ended", "npx", npx, end},
		{"uvx, killed", "uvx", server, kill}, // of which only its answer can tell
		{"uvx, ended", "uvx", server, end},
		{"pipx fails", "pipx", "exit 1", kill},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := installer(t, c.runner, c.start)
			g := startInstalling(t, path)
			start := time.Now()
			c.stop(g)
			_ = g.cmd.Wait()
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("the broker waited %s for the installation", took)
			}
			launch.KillOrphans() // as the next broker does
			if len(left(t, g.mark)) == 0 {
				t.Fatal("the installation was ended")
			}
			openGate(t, path)
			eventually.True(t, "the installation is whole", func() bool { return exists(path, "tree/whole") })
			eventually.True(t, "the server is gone", func() bool { return len(left(t, g.mark)) == 0 })
			eventually.True(t, "the guard is gone", func() bool { return len(guardsOf(g.cmd.Process.Pid)) == 0 })
		})
	}
}

// startInstalling starts a broker whose only server is being installed.
func startInstalling(t *testing.T, command string) *guarded {
	t.Helper()
	cmd := exec.Command(fakeupstream.Command(), guardedArg, command)
	cmd.Stderr = os.Stderr
	in, out := pipes.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	mark, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "it installs", func() bool { return exists(command, "tree") })
	return &guarded{cmd, in, strings.TrimSpace(mark)}
}

// The next broker does not install beside the guard of the last one.
func TestNextBrokerWaitsForTheInstallation(t *testing.T) {
	t.Parallel()
	path := installer(t, "npx", "exec "+fakeupstream.Command()+" "+strings.Join(fakeupstream.Args(fakeupstream.Legacy), " "))
	first := startInstalling(t, path)
	_ = first.cmd.Process.Kill()
	_ = first.cmd.Wait()
	p := newPool(t, &Options{Guard: true}, Config{Name: "other", Command: path, StartTimeout: time.Minute})
	done := make(chan Status)
	go func() { done <- p.Refresh(t.Context())[0] }()
	eventually.True(t, "it starts", func() bool { return p.Status()[0].State == StateStarting })
	if !launch.Finishing(launch.Command{Program: path}) {
		t.Error("the installation of the first is not seen")
	}
	openGate(t, path)
	if st := <-done; st.State != StateReady {
		t.Errorf("status = %+v", st)
	}
	if exists(path, "overlap") {
		t.Error("two installed at the same time")
	}
}

// A server that has answered is not spared any more: it ends with its broker.
func TestInstalledServerEndsWithItsBroker(t *testing.T) {
	t.Parallel()
	server := fakeupstream.Command() + " " + strings.Join(fakeupstream.Args(fakeupstream.IgnoresTerm), " ")
	path := installer(t, "uvx", "echo > started; "+server)
	openGate(t, path)
	p := NewPool([]Config{{Name: "s", Command: path, StartTimeout: time.Minute}}, &Options{Guard: true})
	if st := p.Refresh(t.Context())[0]; st.State != StateReady {
		t.Fatalf("status = %+v", st)
	}
	mark := markOf(t, p, "s")
	p.Close()
	if pids := left(t, mark); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// Without a guard nobody could see to the end of an installation: the runner is
// asked to end, and cleans up.
func TestInstallationWithoutGuardIsAskedToEnd(t *testing.T) {
	t.Parallel()
	path := installer(t, "npx", "exit 1")
	p := NewPool([]Config{{Name: "s", Command: path}}, nil)
	p.Start(t.Context())
	eventually.True(t, "it installs", func() bool { return exists(path, "tree") })
	p.Close()
	if exists(path, "tree") {
		t.Error("it was killed in mid-install")
	}
}
