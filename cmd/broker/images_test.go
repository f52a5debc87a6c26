package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	typei "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/internal/workertest"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

// canRun says whether there are an engine, and a program to make an image of,
// and leave to do so: the image takes the place of the user's own meanwhile.
func canRun(t *testing.T, program string) bool {
	if os.Getenv("BROKER_CI") == "" {
		return false
	}
	m, err := docker.NewManager(t.Context(), docker.Address{})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	_, err = os.Stat("/usr/bin/" + program)
	return err == nil
}

// needPython makes the image that Python runs in, from this machine's own, and
// skips the test where that cannot be.
func needPython(t *testing.T) {
	t.Helper()
	if !canRun(t, "python3") {
		t.Skip("needs BROKER_CI, a container engine and /usr/bin/python3")
	}
	madePython.Do(func() { makePython(t) })
}

var madePython sync.Once

func makePython(t *testing.T) {
	t.Helper()
	tar := filepath.Join(t.TempDir(), "python.tar")
	f, err := os.Create(tar)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	script := exec.Command("../../images/python/rootfs.sh")
	script.Stdout = f
	if err := script.Run(); err != nil {
		t.Fatal(err)
	}
	output(t, brokerCommand(t, "sandbox", "build", "python", "--rootfs", tar))
}

// A keeper runs the tests, and restores the images of sandboxes and the state of
// brokers. The state of other runs would look like that of configs that have moved.
type keeper struct{ *testing.M }

func (k keeper) Run() int {
	eventually.Overlap()
	if os.Getenv("XDG_STATE_HOME") == "" {
		state, err := os.MkdirTemp("", "state-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(state)
		os.Setenv("XDG_STATE_HOME", state)
	}
	worker, err := putWorker()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer keepImages(worker)()
	defer stopSharedDatabase()
	return k.M.Run()
}

// putWorker builds broker-worker beside the broker that tests start, as users have
// it. Scripts then start in a tenth of the time that this test binary needs,
// above all with the race detector, which the tests of package worker have.
func putWorker() (path string, err error) {
	broker, err := exec.LookPath("broker")
	if err != nil {
		return "", err
	}
	return workertest.Build(filepath.Dir(broker))
}

// keepImages looks at the images before tests make some. What it returns gives
// the names that scripts look for back to those that had them, and removes what
// then has no name, and what was made of worker, the broker-worker of the tests.
func keepImages(worker string) (restore func()) {
	if os.Getenv("BROKER_CI") == "" {
		return func() {}
	}
	ctx := context.Background()
	m, err := docker.NewManager(ctx, docker.Address{})
	if err != nil {
		return func() {} // no test makes any
	}
	api, err := client.NewClientWithOpts(client.WithHost(m.Address()), client.WithAPIVersionNegotiation())
	if err != nil {
		return func() {}
	}
	before, err := m.Images(ctx, worker)
	if err != nil {
		return func() {} // no test will do any better
	}
	return func() {
		defer m.Close()
		defer api.Close()
		made, _ := m.Images(ctx, worker)
		known := map[string]bool{}
		for _, i := range before {
			known[i.ID] = true
			for _, name := range i.Names {
				if i.Current {
					_ = api.ImageTag(ctx, i.ID, name)
				}
			}
		}
		for _, i := range made {
			if !known[i.ID] && i.Current {
				_, _ = api.ImageRemove(ctx, i.ID, typei.RemoveOptions{PruneChildren: true})
			}
		}
	}
}
