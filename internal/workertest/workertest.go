// Package workertest builds broker-worker for tests, which start scripts with it like an installed
// broker: a test binary is many times larger and starts more slowly.
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

// Build puts broker-worker into dir and returns its path. It has the same build settings as the
// test binary, and is static where the system can link that, since containers start it. Go links
// it once for all tests of a clone, and again after changes: the result is stored in the user's
// cache directory.
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

// keptDir returns the locked directory that stores the program of this clone.
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

// build builds the program at path. It reuses packages that were compiled for the test: without
// cgo, the packages above net would be compiled again, which happens only if no static C library
// can be linked.
func build(path string) error {
	args := []string{"build", "-buildvcs=false", "-o", path} // like go test
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
