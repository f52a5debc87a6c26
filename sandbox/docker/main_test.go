package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/workertest"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// tempDir is for what all tests share.
var tempDir string

func TestMain(m *testing.M) {
	if worker.IsChild() {
		callWhileBundling()
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "docker-test")
	if err != nil {
		panic(err)
	}
	tempDir = dir
	code := m.Run()
	if err := leftBehind(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// leftBehind says whether containers of this process are there after all tests.
func leftBehind() error {
	e, err := testEngine()
	if err != nil {
		return nil // no test has made any
	}
	defer e.api.Close()
	defer removeImages(e)
	list, err := e.containers(context.Background())
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.Labels[labelOwner] == owner() {
			return fmt.Errorf("container %s (%s) was left behind", c.ID, c.Status)
		}
	}
	return nil
}

var testEngine = sync.OnceValues(func() (*engine, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return connect(ctx, Address{})
})

// needEngine skips a test where there is no engine, and fails it where there
// must be one.
func needEngine(t testing.TB) *engine {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the images of the tests are made of this machine's own binaries, which are not for Linux")
	}
	e, err := testEngine()
	switch {
	case errors.Is(err, ErrNoEngine) && os.Getenv("BROKER_CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	return e
}

func childPath() string { return filepath.Join(tempDir, "broker-worker") }

// child makes the static program that runs programs in containers: broker-worker, with the
// number of this process at its end. No other test process has the same, nor the image of it.
var child = sync.OnceValues(func() (string, error) {
	path, err := workertest.Build(tempDir)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprint(f, os.Getpid())
	return path, errors.Join(err, f.Close())
})

// options are those of a runner under test.
func options(t testing.TB) *Options {
	t.Helper()
	needEngine(t)
	path, err := child()
	if err != nil {
		t.Fatal(err)
	}
	return &Options{Executable: path}
}

func TestSuite(t *testing.T) {
	o := options(t)
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner { return New(o) }, sandboxtest.JavaScript, sandboxtest.Containment, sandboxtest.SlowStart)
}

// A programCase is a program and what becomes of it.
type programCase struct {
	name, code    string
	value, stdout string
	exit          int
	says          string // in the error, the notes or stderr
}

// try runs the program with what else is in req, and compares.
func (c programCase) try(t *testing.T, r sandbox.Runner, req sandbox.Request) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	req.Code, req.Stdout, req.Stderr = c.code, &stdout, &stderr
	res, err := r.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != c.exit || string(res.Value) != c.value || stdout.String() != c.stdout {
		t.Errorf("exit code %d, value %s, stdout %q; want %d, %s, %q\n%s", res.ExitCode, res.Value, stdout.String(), c.exit, c.value, c.stdout, res.Error)
	}
	if all := res.Error + strings.Join(res.Notes, "\n") + stderr.String(); !strings.Contains(all, c.says) {
		t.Errorf("it says %q, want %q in it", all, c.says)
	}
}
