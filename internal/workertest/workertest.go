// Package workertest builds broker-worker for tests, which start scripts with it as
// the broker of a user does: the binary of a test is many times larger and starts as
// much slower.
package workertest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/filelock"
)

const program = "github.com/mcpbroker/mcpbroker/cmd/broker-worker"

// Build puts broker-worker into dir and returns its path. It is of the same build as
// the binary of a test, and static where the system can link that, since containers
// start it. Go links it once for all tests of a clone, and again when it has changed:
// the result is kept in the directory for caches of the user.
func Build(dir string) (path string, err error) {
	name := "broker-worker"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	kept, unlock, err := keptDir()
	if err != nil {
		return "", err
	}
	defer unlock()
	built := filepath.Join(kept, name)
	if err := build(built); err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	return path, copyFile(path, built)
}

// keptDir returns the locked directory in which the program of this clone is kept.
func keptDir() (dir string, unlock func(), err error) {
	root, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", nil, fmt.Errorf("go env: %w", err)
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	clone := sha256.Sum256(root)
	dir = filepath.Join(caches, "mcpbroker-test", fmt.Sprintf("%x", clone[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	unlock, err = filelock.Lock(context.Background(), filepath.Join(dir, "lock"))
	return dir, unlock, err
}

// build makes path the program. It takes what was compiled for the test: without cgo
// the packages above net would be compiled once more. Where no C library can be linked
// statically, they are.
func build(path string) error {
	args := []string{"build", "-buildvcs=false", "-o", path} // as go test builds
	var said []string
	if runtime.GOOS == "linux" {
		static := exec.Command("go", append(args, "-ldflags=-linkmode=external -extldflags=-static", program)...)
		out, err := static.CombinedOutput()
		if err == nil {
			return nil
		}
		said = append(said, string(out))
	}
	cmd := exec.Command("go", append(args, program)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		said = append(said, string(out))
		return fmt.Errorf("go build: %w\n%s", err, strings.Join(said, "\n"))
	}
	return nil
}

func copyFile(path, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
