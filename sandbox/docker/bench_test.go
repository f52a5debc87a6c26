package docker

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	typec "github.com/docker/docker/api/types/container"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// times gathers what a benchmark measured, by name.
type times map[string][]time.Duration

// since adds the time that has passed since start.
func (t times) since(name string, start time.Time) { t[name] = append(t[name], time.Since(start)) }

// report writes the median of each, in milliseconds.
func (t times) report(b *testing.B) {
	for name, took := range t {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2])/float64(time.Millisecond), name+"-p50-ms")
	}
	b.ReportMetric(0, "ns/op") // all of a round, which says nothing
}

// bare is what the engine's own work costs: a container of the same image is
// made, attached and started, with no option that is not needed and nothing
// said. It is removed outside of the measurement.
func bare(b *testing.B, e *engine, image string, k kind, t times) {
	b.Helper()
	start := time.Now()
	made, err := e.api.ContainerCreate(b.Context(), &typec.Config{
		Image: image, Entrypoint: k.command(0), Env: k.env(), OpenStdin: true, StdinOnce: true,
		AttachStdin: true, AttachStdout: true, AttachStderr: true, NetworkDisabled: true, Labels: map[string]string{labelKind: "bench", labelOwner: owner()},
	}, &typec.HostConfig{NetworkMode: "none", LogConfig: typec.LogConfig{Type: "none"}}, nil, nil, "")
	if err != nil {
		b.Fatal(err)
	}
	defer e.removeContainer(made.ID)
	conn, err := e.api.ContainerAttach(b.Context(), made.ID, typec.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.api.ContainerStart(b.Context(), made.ID, typec.StartOptions{}); err != nil {
		b.Fatal(err)
	}
	t.since("bare-start", start)
	conn.Close()
	start = time.Now()
	if err := e.removeContainer(made.ID); err != nil {
		b.Fatal(err)
	}
	t.since("bare-remove", start)
}

// echoTrip returns a function that sends a byte to a process in a container, over the
// streams that the engine attaches, and waits until it has come back: what every
// frame and its answer cost at least.
func echoTrip(b *testing.B, image string) func() {
	b.Helper()
	e := needEngine(b)
	made, err := e.api.ContainerCreate(b.Context(), &typec.Config{
		Image: image, Entrypoint: []string{"python3", "-c", "import os\nwhile os.write(1, os.read(0, 1)): pass"},
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true,
		Labels: map[string]string{labelKind: "bench", labelOwner: owner()},
	}, &typec.HostConfig{NetworkMode: "none", LogConfig: typec.LogConfig{Type: "none"}}, nil, nil, "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.removeContainer(made.ID) })
	conn, err := e.api.ContainerAttach(b.Context(), made.ID, typec.AttachOptions{Stream: true, Stdin: true, Stdout: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	if err := e.api.ContainerStart(b.Context(), made.ID, typec.StartOptions{}); err != nil {
		b.Fatal(err)
	}
	out := &demux{r: conn.Reader}
	back := make([]byte, 1)
	trip := func() {
		if _, err := conn.Conn.Write([]byte("x")); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(out, back); err != nil {
			b.Fatal(err)
		}
	}
	trip() // it has started now
	return trip
}

// waitForSpare returns when the runner's spare has started.
func waitForSpare(b *testing.B, r *runner) {
	b.Helper()
	r.pool.Fill()
	if spares, _ := r.pool.Waiting(); len(spares) == 0 {
		b.Fatal("no container waits")
	}
	<-time.After(warmUp)
}

// warmUp is how long a spare is left alone: the least that an agent leaves
// between two scripts.
const warmUp = 100 * time.Millisecond

// settle is how long the containers that were used before are given to be gone.
const settle = 400 * time.Millisecond

// BenchmarkContainers compares runs in containers with the engine's own work,
// and with the worker. They take turns, so that all see the same machine.
func BenchmarkContainers(b *testing.B) {
	for _, bb := range []struct {
		name, program string
		language      sandbox.Language
		make          func(*Options) sandbox.Runner
		image         func(*testing.B, *Options) (image string)
		kind          kind
	}{
		{"goja", "return 1 + 1", sandbox.JavaScript, New, func(b *testing.B, o *Options) string {
			image, err := needEngine(b).gojaImage(b.Context(), o.Executable)
			if err != nil {
				b.Fatal(err)
			}
			return image
		}, javaScript{}},
		{"node", "return 1 + 1", sandbox.JavaScript, NewNode, func(b *testing.B, o *Options) string {
			needImage(b, nodeImage)
			o.Image = nodeTestImage
			return o.Image
		}, node{}},
		{"python", "1 + 1", sandbox.Python, NewPython, func(b *testing.B, o *Options) string {
			needImage(b, pythonImage)
			o.Image = testImage
			return testImage
		}, python{}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			o := options(b)
			image, e := bb.image(b, o), needEngine(b)
			cold := *o
			cold.Spares = -1
			rc, rw := bb.make(&cold), bb.make(o)
			defer rc.Close()
			defer rw.Close()
			wc, ww := worker.New(&worker.Options{Executable: o.Executable, Spares: -1}), worker.New(&worker.Options{Executable: o.Executable})
			defer wc.Close()
			defer ww.Close()
			t := times{}
			run := func(name string, r sandbox.Runner, language sandbox.Language, code string) {
				start := time.Now()
				res, err := r.Run(b.Context(), sandbox.Request{Language: language, Code: code})
				if err != nil || string(res.Value) != "2" {
					b.Fatalf("%+v, %v", res, err)
				}
				if name != "" {
					t.since(name, start)
				}
			}
			run("", rc, bb.language, bb.program) // finds the image and the engine
			needImage(b, pythonImage)
			trip := echoTrip(b, testImage)
			for b.Loop() {
				waitForSpare(b, runnerOf(rw))
				<-time.After(settle)
				bare(b, e, image, bb.kind, t)
				run("cold", rc, bb.language, bb.program)
				<-time.After(settle)
				run("worker-cold", wc, sandbox.JavaScript, "return 1 + 1")
				<-time.After(warmUp)
				run("worker-warm", ww, sandbox.JavaScript, "return 1 + 1")
				<-time.After(warmUp)
				run("warm", rw, bb.language, bb.program)
				start := time.Now()
				trip()
				t.since("bare-echo", start)
			}
			t.report(b)
		})
	}
}

func runnerOf(r sandbox.Runner) *runner {
	if n, ok := r.(*nodeRunner); ok {
		return n.runner
	}
	return r.(*runner)
}

// BenchmarkCalls is a thousand calls of a tool that does nothing, in containers
// and in the worker by turns.
func BenchmarkCalls(b *testing.B) {
	const loop = `let n = 0; for (let i = 0; i < 1000; i++) n += (await callMCPTool("demo__echo", {i})).i; return n`
	const all = `return (await Promise.all(Array.from({length: 1000}, (_, i) => callMCPTool("demo__echo", {i})))).length`
	o := options(b)
	needImage(b, pythonImage)
	needImage(b, nodeImage)
	o.Image = testImage
	forNode := *o
	forNode.Image = nodeTestImage
	goja, js, py, ours := New(o), NewNode(&forNode), NewPython(o), worker.New(&worker.Options{Executable: o.Executable})
	defer goja.Close()
	defer js.Close()
	defer py.Close()
	defer ours.Close()
	trip := echoTrip(b, testImage)
	t := times{}
	for b.Loop() {
		start := time.Now()
		for range 1000 {
			trip()
		}
		t.since("bare-echo-1000", start)
		for _, x := range []struct {
			name     string
			r        sandbox.Runner
			language sandbox.Language
			code     string
		}{
			{"container", goja, sandbox.JavaScript, loop},
			{"container-parallel", goja, sandbox.JavaScript, all},
			{"node", js, sandbox.JavaScript, loop},
			{"node-parallel", js, sandbox.JavaScript, all},
			{"worker", ours, sandbox.JavaScript, loop},
			{"worker-parallel", ours, sandbox.JavaScript, all},
			{"python", py, sandbox.Python, "n = 0\nfor i in range(1000):\n    n += (await call_mcp_tool('demo__echo', i=i))['i']\nn"},
			{"python-parallel", py, sandbox.Python, "import asyncio\nlen(await asyncio.gather(*(call_mcp_tool('demo__echo', i=i) for i in range(1000))))"},
		} {
			if x.r != ours {
				waitForSpare(b, runnerOf(x.r))
			}
			start := time.Now()
			res, err := x.r.Run(b.Context(), sandbox.Request{
				Language: x.language, Code: x.code, Limits: sandbox.Limits{Calls: 1000},
				Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) { return c.Args, nil },
			})
			if err != nil || res.ExitCode != 0 || res.Calls != 1000 {
				b.Fatalf("%+v, %v", res, err)
			}
			t.since("calls-1000-"+x.name, start)
		}
	}
	t.report(b)
}

// BenchmarkRemove is how long it takes to kill and remove a container, which no
// run waits for: beside it the time that a run takes to return once it has the
// result.
func BenchmarkRemove(b *testing.B) {
	o := options(b)
	r := New(o).(*runner)
	defer r.Close()
	t := times{}
	for b.Loop() {
		waitForSpare(b, r)
		spares, fits := r.pool.Waiting()
		c, own, err := r.pool.Take(b.Context(), fits[0], false)
		if err != nil || own || c != spares[0] {
			b.Fatalf("a container of its own: %t, error: %v; want the one that waits", own, err)
		}
		start := time.Now()
		c.remove()
		t.since("remove", start)
	}
	t.report(b)
}
