package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	typec "github.com/docker/docker/api/types/container"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/attack"
)

// A disguise makes of the engine that is here one of another kind or age. It is
// a proxy in front of it.
type disguise struct {
	// version is the API that it says it has; empty means the engine's own.
	version string
	// late engines attach to containers only once they were started.
	late bool
	// busy is how many removals of each container are refused.
	busy int
	// weaken takes something from how containers are to be made; nil takes
	// nothing.
	weaken func(config map[string]any)

	real    string // the engine's own version
	address string

	mu      sync.Mutex
	asked   map[string]bool // versions that were asked for
	started map[string]bool // containers
	refused map[string]int  // removals, by container
	early   int             // refused attachments
}

// put starts the proxy, which ends with the test.
func (d *disguise) put(t *testing.T) {
	t.Helper()
	e := needEngine(t)
	ping, err := e.api.Ping(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.real = ping.APIVersion
	if d.version == "" {
		d.version = d.real
	}
	d.asked, d.started, d.refused = map[string]bool{}, map[string]bool{}, map[string]int{}
	socket := filepath.Join(t.TempDir(), "engine.sock")
	d.address = "unix://" + socket
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	dial := e.api.Dialer()
	s := &http.Server{Handler: d.handler(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine"
			if _, rest, ok := strings.Cut(strings.TrimPrefix(r.Out.URL.Path, "/"), "/"); ok {
				r.Out.URL.Path = "/v" + d.real + "/" + rest
			}
		},
		ModifyResponse: func(res *http.Response) error {
			if res.Header.Get("Api-Version") != "" {
				res.Header.Set("Api-Version", d.version)
			}
			return nil
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		FlushInterval: -1,
	})}
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(l) })
	t.Cleanup(func() {
		s.Close()
		serving.Wait()
	})
}

// handler refuses what the engine that is played refuses, and hands the rest on.
func (d *disguise) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if version, ok := strings.CutPrefix(parts[0], "v"); ok && len(parts) > 1 {
			if code, text := d.judge(version, r.Method, parts[1:]); code != 0 {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				json.NewEncoder(w).Encode(map[string]string{"message": text})
				return
			}
		}
		if d.weaken != nil && strings.HasSuffix(r.URL.Path, "/containers/create") {
			config := map[string]any{}
			json.NewDecoder(r.Body).Decode(&config)
			d.weaken(config)
			weak, _ := json.Marshal(config)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(weak)), int64(len(weak))
		}
		next.ServeHTTP(w, r)
	})
}

// judge says how a request is refused; 0 means that it is not.
func (d *disguise) judge(version, method string, path []string) (code int, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[version] = true
	if minor(version) > minor(d.version) {
		return http.StatusBadRequest, fmt.Sprintf("client version %s is too new. Maximum supported API version is %s", version, d.version)
	}
	if path[0] != "containers" || len(path) < 2 {
		return 0, ""
	}
	id, action := path[1], strings.Join(path[2:], "/")
	switch {
	case action == "start":
		d.started[id] = true
	case action == "attach" && d.late && !d.started[id]:
		d.early++
		return http.StatusConflict, "container is not running"
	case method == http.MethodDelete && d.refused[id] < d.busy:
		d.refused[id]++
		return http.StatusInternalServerError, "sending SIGKILL to container " + id + ": container state improper: stopped"
	}
	return 0, ""
}

func minor(version string) int {
	_, m, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(m)
	return n
}

// Engines differ in what they can do and in what order. Programs run in the
// containers of all of them, and the containers are gone afterwards.
func TestEnginesOfOtherKindsAndAges(t *testing.T) {
	for _, tt := range []struct {
		name  string
		d     *disguise
		asked string // the version of the API that is used
	}{
		{"Docker 20.10", &disguise{version: "1.41"}, "1.41"},
		{"an engine newer than this client", &disguise{version: "1.99"}, ""},
		{"one that attaches to what was started", &disguise{late: true}, ""},
		{"one that is busy when it shall remove", &disguise{busy: 3}, ""},
		{"one that does both, as Podman does", &disguise{version: "1.41", late: true, busy: 1}, "1.41"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, d := options(t), tt.d
			d.put(t)
			o.Engine.Host = d.address
			r := New(o)
			for i := range 3 {
				var printed bytes.Buffer
				res, err := r.Run(t.Context(), sandbox.Request{
					Code: fmt.Sprintf(`console.log("printed"); return (await callMCPTool("demo__echo", {n: %d})).n`, i),
					Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) { return c.Args, nil }, Stdout: &printed,
				})
				if err != nil || string(res.Value) != strconv.Itoa(i) || printed.String() != "printed\n" {
					t.Errorf("%+v, %v, printed %q; want the value %d", res, err, printed.String(), i)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			d.check(t, tt.asked)
		})
	}
}

// check looks at what was asked of the engine, and whether it has still any of
// the containers.
func (d *disguise) check(t *testing.T, asked string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if asked != "" && (len(d.asked) != 1 || !d.asked[asked]) {
		t.Errorf("asked for the versions %v, want %s alone", d.asked, asked)
	}
	if len(d.started) < 3 {
		t.Errorf("%d containers were started, want one for each of three programs", len(d.started))
	}
	// The first containers may start at the same time.
	if d.late != (d.early > 0) || d.early >= len(d.started) {
		t.Errorf("%d attachments to %d containers came too early, want that to be known after the first", d.early, len(d.started))
	}
	list, err := needEngine(t).containers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if d.started[c.ID] {
			t.Errorf("container %s is still there", c.ID)
		}
	}
	for id := range d.started {
		if d.refused[id] != d.busy {
			t.Errorf("container %s: %d removals were refused, want %d", id, d.refused[id], d.busy)
		}
	}
}

// A configured version of the API is used.
func TestTheVersionOfTheAPICanBeSet(t *testing.T) {
	o, d := options(t), &disguise{}
	d.put(t)
	t.Setenv("DOCKER_API_VERSION", "1.40")
	o.Engine.Host = d.address
	r := New(o)
	defer r.Close()
	if res, err := r.Run(t.Context(), sandbox.Request{Code: "return 1 + 1"}); err != nil || string(res.Value) != "2" {
		t.Errorf("%+v, %v; want the value 2", res, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := slices.Collect(maps.Keys(d.asked)); !slices.Equal(got, []string{"1.40"}) {
		t.Errorf("asked for the versions %v, want 1.40 alone", d.asked)
	}
}

// A wall that is missing is seen: attacks get out of containers that lack one,
// and the report says so.
func TestAttacksFindAMissingWall(t *testing.T) {
	for _, tt := range []struct {
		wall    string
		without func(host, config map[string]any)
		gotOut  []string
	}{
		{"network", func(host, config map[string]any) { host["NetworkMode"], config["NetworkDisabled"] = "host", false }, []string{"the network of the host"}},
		{"file system", func(host, _ map[string]any) { host["Binds"] = []string{os.TempDir() + ":" + os.TempDir()} }, []string{"a file of the host"}},
		{"user", func(host, config map[string]any) {
			config["User"], host["ReadonlyRootfs"] = "0:0", false
			delete(host, "CapDrop")
			delete(host, "SecurityOpt")
		}, []string{"writing files", "rights", "capabilities"}},
		{"execution", func(host, _ map[string]any) { host["Tmpfs"] = map[string]string{"/tmp": "rw,exec,mode=1777"} }, []string{"running what it has written"}},
	} {
		t.Run(tt.wall, func(t *testing.T) {
			newTestPython(t) // makes the image
			d := &disguise{weaken: func(config map[string]any) { tt.without(config["HostConfig"].(map[string]any), config) }}
			d.put(t)
			r := NewPython(&Options{Engine: Address{Host: d.address}, Image: testImage})
			defer r.Close()
			for _, a := range attack.List(attack.Python) {
				if !slices.Contains(tt.gotOut, a.Name) {
					continue
				}
				if o := attack.Try(t.Context(), r, a, attack.Options{Timeout: 5 * time.Second, MemoryBytes: 128 << 20}); o.Contained || o.Problem == "" {
					t.Errorf("%+v, want it to get out", o)
				}
			}
		})
	}
}

// An engine that takes limits and does not keep them is found out: the layers say
// so, and each process is limited instead.
func TestLimitsThatAreNotKept(t *testing.T) {
	newTestPython(t) // makes the image
	d := &disguise{weaken: func(config map[string]any) {
		host := config["HostConfig"].(map[string]any)
		host["Memory"], host["MemorySwap"], host["PidsLimit"] = 0, 0, 0
	}}
	d.put(t)
	for _, kind := range []string{KindPython, KindGoja} {
		o := options(t)
		o.Engine.Host, o.Image = d.address, testImage
		make, a := NewPython, attack.Attack{Language: sandbox.Python, Code: "a = []\nwhile True:\n    a.append(bytearray(1 << 20))"}
		if kind == KindGoja {
			make, a = New, attack.Attack{Code: `const a = []; for (;;) a.push("x".repeat(1e7 + a.length))`}
		}
		r := make(o)
		defer r.Close()
		layers, err := sandbox.LayersOf(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		// The process of the other kind limits itself.
		if err := sandbox.RequireLayers(layers, []string{sandbox.LayerMemory}); (err != nil) != (kind == KindPython) {
			t.Errorf("%s: %v, layers %+v", kind, err, layers)
		}
		if !strings.Contains(layers[0].Detail, limitNotEnforced) {
			t.Errorf("%s: %+v", kind, layers[0])
		}
		opts := attack.Options{Timeout: 30 * time.Second, MemoryBytes: 128 << 20}
		if o := attack.Try(t.Context(), r, a, opts); !o.Contained || o.ExitCode != sandbox.ExitThrew && o.ExitCode != sandbox.ExitMemory {
			t.Errorf("%s: %+v, want its memory to end", kind, o)
		}
	}
}

// Podman makes places writable in containers whose root is read-only, unless
// something is mounted there.
func TestPodmanGetsNoWritablePlaces(t *testing.T) {
	const mine = "rw,size=1m"
	asked := &typec.HostConfig{ReadonlyRootfs: true, Tmpfs: map[string]string{"/tmp": mine}}
	podman := &engine{podman: true}
	got := podman.readOnlyDirs(asked).Tmpfs
	if len(got) != 3 || got["/tmp"] != mine || !strings.HasPrefix(got["/run"], "ro,noexec,") || !strings.HasPrefix(got["/var/tmp"], "ro,noexec,") {
		t.Errorf("Podman is asked for %q", got)
	}
	if len(asked.Tmpfs) != 1 {
		t.Errorf("what was asked for has changed: %q", asked.Tmpfs)
	}
	if got := podman.readOnlyDirs(&typec.HostConfig{ReadonlyRootfs: true}).Tmpfs; len(got) != 3 {
		t.Errorf("Podman is asked for %q where nothing was", got)
	}
	for _, e := range []*engine{{}, podman} {
		writable := &typec.HostConfig{ReadonlyRootfs: !e.podman}
		if got := e.readOnlyDirs(writable); got != writable {
			t.Errorf("%+v was changed to %+v", writable, got)
		}
	}
}
