package docker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	typec "github.com/docker/docker/api/types/container"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
)

func TestWithoutAnEngineItSaysWhatToDo(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	r := New(&Options{Engine: Address{Host: "unix://" + filepath.Join(home, "none.sock")}})
	defer r.Close()
	_, err := r.Run(t.Context(), sandbox.Request{Code: "1"})
	if !errors.Is(err, ErrNoEngine) {
		t.Fatalf("error %v, want %v", err, ErrNoEngine)
	}
	for _, says := range []string{"start Docker or Podman", "DOCKER_HOST", "none.sock (no such socket)"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("error %q does not say %q", err, says)
		}
	}
	if strings.Contains(err.Error(), home) {
		t.Errorf("error %q, which models read, tells the user's folder", err)
	}
	if _, err := sandbox.LayersOf(t.Context(), r); !errors.Is(err, ErrNoEngine) {
		t.Errorf("Layers: %v, want %v", err, ErrNoEngine)
	}
}

func TestABinaryThatNeedsALinkerIsRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a binary for Linux")
	}
	sh, err := os.Open("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	defer sh.Close()
	if err := static(sh); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("static(/bin/sh) = %v, want what to do", err)
	}
	if err := static(strings.NewReader("#!/bin/sh\n")); err == nil {
		t.Error("a script passed as a binary")
	}
}

func TestLayersNameWhatContains(t *testing.T) {
	o := options(t)
	o.Require = []string{LayerContainer, sandbox.LayerLimits}
	r := New(o)
	defer r.Close()
	layers, err := sandbox.LayersOf(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(o.Require, sandbox.LayerMemory, sandbox.LayerProcess, sandbox.LayerSeccomp) {
		if err := sandbox.RequireLayers(layers, []string{name}); err != nil {
			t.Error(err)
		}
	}
	o.Require = []string{"moat"}
	strict := New(o)
	defer strict.Close()
	if _, err := strict.Run(t.Context(), sandbox.Request{Code: "1"}); err == nil || !strings.Contains(err.Error(), "must have moat") {
		t.Errorf("Run without a layer that is required: %v", err)
	}
}

// A container whose owner is gone is removed by the next runner, one whose owner
// lives is not.
func TestLeftoversAreSwept(t *testing.T) {
	o := options(t)
	e := needEngine(t)
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	image, err := e.gojaImage(t.Context(), o.Executable)
	if err != nil {
		t.Fatal(err)
	}
	make := func(owner string) string {
		c, err := e.api.ContainerCreate(t.Context(), &typec.Config{Image: image, Cmd: []string{"x"},
			Labels: map[string]string{labelKind: KindGoja, labelOwner: owner}}, &typec.HostConfig{NetworkMode: "none"}, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.removeContainer(c.ID) })
		return c.ID
	}
	dead := make(fmt.Sprintf("%s/%d/1", machine(), gone.Process.Pid))
	alive, foreign := make(owner()), make("elsewhere/1/1")

	r := New(o)
	if _, err := r.Run(t.Context(), sandbox.Request{Code: "1"}); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	list, err := e.containers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, c := range list {
		there[c.ID] = true
	}
	if there[dead] || !there[alive] || !there[foreign] {
		t.Errorf("there are the dead one's: %v, this one's: %v, another machine's: %v; want only the last two", there[dead], there[alive], there[foreign])
	}
}

// A spare that has died while it waited costs a moment, not the run.
func TestASpareThatDiedIsNotUsed(t *testing.T) {
	r := New(options(t)).(*runner)
	defer r.Close()
	if _, err := r.Layers(t.Context()); err != nil {
		t.Fatal(err)
	}
	spares, _ := r.pool.Waiting()
	if err := spares[0].eng.removeContainer(spares[0].id); err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(t.Context(), sandbox.Request{Code: "return 1 + 1"})
	if err != nil || string(res.Value) != "2" {
		t.Errorf("%+v, %v; want the value 2", res, err)
	}
}

func TestImagesAreListed(t *testing.T) {
	o := options(t)
	m, err := NewManager(t.Context(), Address{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	name, err := m.BuildGoja(t.Context(), o.Executable)
	if err != nil {
		t.Fatal(err)
	}
	images, err := m.Images(t.Context(), o.Executable)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range images {
		for _, n := range i.Names {
			found = found || n == name && i.Current && i.Kind == KindGoja && i.Bytes > 1<<20
		}
	}
	if !found {
		t.Errorf("images %+v, want %s as a current one", images, name)
	}
}

func TestOrphans(t *testing.T) {
	for _, tt := range []struct {
		label       string
		ended, want bool
	}{
		{owner(), true, false},
		{owner() + "x", false, true}, // an earlier process with this id
		{"elsewhere/1/1", false, false},
		{"elsewhere/1/1", true, true},
		{"", true, true},
		{"", false, false},
		{machine() + "/0/1", false, false},
	} {
		if got := orphan(tt.label, tt.ended); got != tt.want {
			t.Errorf("orphan(%q, %v) = %v", tt.label, tt.ended, got)
		}
	}
}

func TestAProcessExistsUntilItHasEnded(t *testing.T) {
	if !exists(os.Getpid()) || !exists(os.Getppid()) {
		t.Error("a process is not there that is")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if exists(cmd.Process.Pid) {
		t.Error("a process is there that has ended")
	}
}

func block(stream byte, text string) string {
	return string(binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, uint32(len(text)))) + text
}

func TestStreamsAreTakenApart(t *testing.T) {
	in := block(1, "one ") + block(2, "crash") + block(1, "") + block(1, "two") + block(2, strings.Repeat("x", 2*host.CrashBytes))
	d := &demux{r: iotest.OneByteReader(strings.NewReader(in))}
	out, err := io.ReadAll(d)
	if err != nil || string(out) != "one two" {
		t.Errorf("stdout %q, %v", out, err)
	}
	if d.crash.Len() != host.CrashBytes || !strings.HasPrefix(d.crash.String(), "crashxxx") {
		t.Errorf("kept %d bytes of stderr, %.20q", d.crash.Len(), d.crash.String())
	}
}

func FuzzDemux(f *testing.F) {
	f.Add([]byte(block(1, "a") + block(2, "b")))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		d := &demux{r: bytes.NewReader(in)}
		out, _ := io.ReadAll(d)
		if len(out)+d.crash.Len() > len(in) {
			t.Errorf("%d bytes became %d and %d", len(in), len(out), d.crash.Len())
		}
	})
}

func TestAddresses(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///x.sock")
	if got := addresses(Address{}); len(got) != 1 || got[0].Host != "unix:///x.sock" {
		t.Errorf("with DOCKER_HOST: %q", got)
	}
	if got := addresses(Address{Host: "tcp://y"}); len(got) != 1 || got[0].Host != "tcp://y" {
		t.Errorf("named: %q", got)
	}
	t.Setenv("DOCKER_HOST", "")
	if got := addresses(Address{}); len(got) < 2 {
		t.Errorf("usual places: %q", got)
	}
	for host, says := range map[string]string{
		"ssh://host": "ssh is not supported", "tcp://10.0.0.5:2375": "tcp://10.0.0.5:2375 is on another machine", "http://x": "write unix:///PATH or tcp://HOST:PORT",
		"tcp://example.com:2376": "set DOCKER_CERT_PATH",
	} {
		if _, err := connect(t.Context(), Address{Host: host}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", host, err)
		}
	}
	t.Setenv("DOCKER_CERT_PATH", "/certs")
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.5:2376")
	if _, err := connect(t.Context(), Address{}); err == nil || !strings.Contains(err.Error(), filepath.Join("/certs", "ca.pem")) {
		t.Errorf("with certificates that are not there: %v", err)
	}
}

// However many programs run at once, so many containers wait afterwards as may,
// new ones, and no other is left.
func TestThePoolHasABound(t *testing.T) {
	o := options(t)
	o.Spares = 2
	r := New(o).(*runner)
	defer r.Close()
	waiting := func() (ids []string) {
		spares, _ := r.pool.Waiting()
		for _, c := range spares {
			ids = append(ids, c.id)
		}
		slices.Sort(ids)
		return ids
	}
	var before []string
	for range 3 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if res, err := r.Run(t.Context(), sandbox.Request{Code: "return 1 + 1"}); err != nil || string(res.Value) != "2" {
					t.Errorf("%+v, %v; want the value 2", res, err)
				}
			})
		}
		all.Wait()
		now := waiting()
		if len(now) != o.Spares {
			t.Errorf("%d containers wait, want %d", len(now), o.Spares)
		}
		if slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) }) {
			t.Errorf("%v wait after a run, and have waited before it: %v", now, before)
		}
		before = now
	}
	mine := func() (ids []string) {
		list, err := r.eng.containers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Labels[labelOwner] == owner() && c.Labels[labelKind] == KindGoja {
				ids = append(ids, c.ID)
			}
		}
		slices.Sort(ids)
		return ids
	}
	for end := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		got := mine()
		if slices.Equal(got, before) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("containers %v are there, want those that wait, %v", got, before)
		}
	}
}
