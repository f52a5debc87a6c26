package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	typei "github.com/docker/docker/api/types/image"

	"github.com/mcpbroker/mcpbroker/images"
)

// The images that tests run in are made of this machine's own programs, and
// removed after the tests. Their names are of this process alone: others may be
// testing too.
var (
	testImage     = fmt.Sprint("mcpbroker/sandbox-python:test-", os.Getpid())
	nodeTestImage = fmt.Sprint("mcpbroker/sandbox-node:test-", os.Getpid())

	pythonImage = sync.OnceValue(func() error { return makeImage(testImage, KindPython, "/usr/bin/python3") })
	nodeImage   = sync.OnceValue(func() error { return makeImage(nodeTestImage, KindNode, "/usr/bin/node") })
)

func makeImage(name, kind, program string) error {
	e, err := testEngine()
	if err != nil {
		return err
	}
	if _, err := os.Stat(program); err != nil {
		return err
	}
	script := exec.Command("../../images/" + kind + "/rootfs.sh")
	script.Stderr = os.Stderr
	rootfs, err := script.Output()
	if err != nil {
		return err
	}
	return e.importImage(context.Background(), bytes.NewReader(rootfs), name, kind)
}

// removeImages removes the images that were made.
func removeImages(e *engine) {
	goja, _ := gojaName(childPath()) // of no binary if that was not built
	for _, name := range []string{testImage, nodeTestImage, goja} {
		e.api.ImageRemove(context.Background(), name, typei.RemoveOptions{PruneChildren: true})
	}
}

// needImage makes an image. It skips a test where there is no engine or no program
// for it, and fails it where there must be.
func needImage(t testing.TB, made func() error) {
	t.Helper()
	needEngine(t)
	switch err := made(); {
	case errors.Is(err, os.ErrNotExist) && os.Getenv("BROKER_CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// A base image that the engine has is enough: nothing is downloaded.
func TestImagesAreBuiltFromABase(t *testing.T) {
	for _, tt := range []struct {
		kind, base string
		made       func() error
		dockerfile []byte
	}{
		{KindPython, testImage, pythonImage, images.Python},
		{KindNode, nodeTestImage, nodeImage, images.Node},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			needImage(t, tt.made)
			m, name := &Manager{eng: needEngine(t)}, tt.base+"-built"
			if _, err := m.Build(t.Context(), tt.kind, name, []byte("FROM mcpbroker/no-such-image:1\nLABEL x\n"), tt.base); err == nil {
				t.Error("an image was built from nothing")
			}
			if _, err := m.Build(t.Context(), tt.kind, name, tt.dockerfile, tt.base); err != nil {
				t.Fatal(err)
			}
			defer m.eng.api.ImageRemove(context.Background(), name, typei.RemoveOptions{PruneChildren: true})
			if err := m.Has(t.Context(), tt.kind, name); err != nil {
				t.Error(err)
			}
		})
	}
}
