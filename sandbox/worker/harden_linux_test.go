package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpbroker/mcpbroker/internal/spawn/spawntest"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/internal/host"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// A view is what a child finds around itself.
type view struct {
	Env      []string
	Dir      string
	Files    map[string]string
	Data     uint64
	Core     uint64
	NoFile   uint64
	Group    bool // leads its process group
	Dumpable int
}

// Beside them stand those of a program that has started a timer before, which opens
// the files of the Go runtime's poller.
func init() {
	children["inspect"] = inspect
	afterATimer := func(main func()) func() {
		return func() {
			time.AfterFunc(time.Hour, func() {})
			main()
		}
	}
	children["inspect after a timer"] = afterATimer(inspect)
	children["timer"] = afterATimer(Main)
}

func TestAProgramThatHasStartedATimer(t *testing.T) {
	r := New(&Options{Args: []string{"timer"}, Spares: -1})
	defer r.Close()
	code := fmt.Sprintf("await new Promise((done) => setTimeout(done, %d)); return 1 + 1", 2*oneThreadFor.Milliseconds())
	if res, err := r.Run(t.Context(), sandbox.Request{Code: code}); err != nil || string(res.Value) != "2" {
		t.Errorf("%+v, %v", res, err)
	}
}

// inspect is the main of a child that contains itself as children do, and
// then answers with its view instead of running a program.
func inspect() {
	if err := closeInherited(); err != nil {
		panic(err)
	}
	r, w := wire.NewReader(os.Stdin, 1<<20), wire.NewWriter(os.Stdout)
	f, _ := r.Next()
	var hello wire.Hello
	if err := json.Unmarshal(f.Payload, &hello); err != nil {
		panic(err)
	}
	tune(hello.MemoryBytes)
	// Only the limits: it looks at itself through files, see probe_linux_test.go
	// for the rest.
	if err := limit(hello.MemoryBytes); err != nil {
		panic(err)
	}
	w.Write(wire.TypeReady, 0)
	r.Next()
	v := view{Env: os.Environ(), Files: make(map[string]string), Group: unix.Getpgrp() == os.Getpid()}
	v.Dir, _ = os.Getwd()
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			v.Files[e.Name()] = target
		}
	}
	limit := func(resource int) uint64 {
		var l unix.Rlimit
		unix.Getrlimit(resource, &l)
		return l.Max
	}
	v.Data, v.Core, v.NoFile = limit(unix.RLIMIT_DATA), limit(unix.RLIMIT_CORE), limit(unix.RLIMIT_NOFILE)
	v.Dumpable, _ = unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	value, _ := json.Marshal(v)
	w.WriteDone(wire.Done{Value: value})
	r.Next()
}

func TestAChildHasNothingOfItsHost(t *testing.T) {
	for _, child := range []string{"inspect", "inspect after a timer"} {
		t.Run(child, func(t *testing.T) { testNothingOfItsHost(t, child) })
	}
}

func testNothingOfItsHost(t *testing.T, child string) {
	t.Setenv("BROKER_TEST_SECRET", "x")
	// A file that the host itself was started with, as careless parents do.
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)

	r := New(&Options{Args: []string{child}, Spares: -1})
	defer r.Close()
	const memory = 200 << 20
	res, err := r.Run(t.Context(), sandbox.Request{Code: "1", Limits: sandbox.Limits{MemoryBytes: memory}})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	var v view
	if err := json.Unmarshal(res.Value, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Env) != 0 {
		t.Errorf("environment %q", v.Env)
	}
	if v.Dir != "/" {
		t.Errorf("working directory %q", v.Dir)
	}
	for name, target := range v.Files {
		if len(name) == 1 && name < "3" && strings.HasPrefix(target, "pipe:") || ofRuntime(target) || strings.HasPrefix(target, "/proc/") {
			continue
		}
		t.Errorf("file %s is %s", name, target)
	}
	if v.Data < memory+dataMargin || v.Data > 1<<40 || v.Core != 0 || v.NoFile != maxFiles {
		t.Errorf("limits: data %d, core %d, files %d", v.Data, v.Core, v.NoFile)
	}
	if !v.Group || v.Dumpable != 0 {
		t.Errorf("own group %v, dumpable %d", v.Group, v.Dumpable)
	}
}

// The kernel ends a child with the thread that has started it, which in Go is not
// the process.
func TestAChildOutlivesTheThreadThatAskedForIt(t *testing.T) {
	req, limits := sandbox.Request{Language: sandbox.JavaScript, Code: "return 1 + 1"}, sandbox.Limits{}.WithDefaults()
	var p *process
	var err error
	spawntest.OnThreadThatEnds(t, func() {
		p, err = startProcess(t.Context(), &Options{}, wire.Hello{Version: wire.Version, MemoryBytes: limits.MemoryBytes})
	})
	if err != nil {
		t.Fatal(err)
	}
	r := New(&Options{Spares: -1}).(*runner)
	defer r.Close()
	ctx, leave, err := r.pool.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res := r.lendThis(ctx, p, limits.MemoryBytes, leave).run(&req, limits); string(res.Value) != "2" {
		t.Errorf("%+v, want the value 2", res)
	}
}

func TestOwnPages(t *testing.T) {
	for in, want := range map[string]int64{
		"1000 300 100 1 0 1 0\n": 200,
		"0 0 0":                  0,
	} {
		if got, ok := ownPages([]byte(in)); !ok || got != want {
			t.Errorf("ownPages(%q) = %d, %v; want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "1 2", "a b c"} {
		if got, ok := ownPages([]byte(in)); ok {
			t.Errorf("ownPages(%q) = %d", in, got)
		}
	}
}

func TestTheWatchdogSeesMemory(t *testing.T) {
	over := false
	peak := watchMemory(t.Context(), os.Getpid(), 1, func() { over = true })
	if !over || peak < 1<<20 {
		t.Errorf("this process uses %d bytes of memory", peak)
	}
}

func TestTimeoutNearTheMemoryLimitSaysSo(t *testing.T) {
	const limit = 256 << 20
	for peak, want := range map[int64]string{
		0: "", 100 << 20: "", 240 << 20: "\nit had come to 240 MiB of the 256 MiB of memory that it may use: keep less at one time",
	} {
		if got := host.NearMemory(peak, limit); got != want {
			t.Errorf("nearMemory(%d MiB) = %q, want %q", peak>>20, got, want)
		}
	}
}
