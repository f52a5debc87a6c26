//go:build unix

package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// process starts a server in a process of its own.
func process(t *testing.T, f Files) (*os.Process, string) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(own, argServer, f.CA, f.Cert, f.Key)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process, strings.TrimSpace(line)
}

// A proxy forwards connections until it is cut: then it keeps them, and forwards
// nothing more, as a network does that is split.
type proxy struct {
	l    net.Listener
	to   string
	cut  chan struct{}
	once sync.Once
	all  sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, to: to, cut: make(chan struct{})}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			t.Cleanup(func() { c.Close(); s.Close() })
			p.all.Go(func() { p.copy(s, c) })
			p.all.Go(func() { p.copy(c, s) })
		}
	})
	t.Cleanup(func() { l.Close() })
	return p
}

func (p *proxy) copy(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-p.cut:
			return
		default:
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			to.Close()
			return
		}
	}
}

func (p *proxy) split() { p.once.Do(func() { close(p.cut) }) }

// What becomes of a program that has made a call when its server, or the network
// to it, is lost; and of the next one.
func TestALostServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(*os.Process, *proxy) error
		code int
		says string
	}{
		{"killed", func(p *os.Process, _ *proxy) error { return p.Kill() }, sandbox.ExitMemory, "sandbox was lost"},
		{"stopped", func(p *os.Process, _ *proxy) error { return p.Signal(syscall.SIGSTOP) }, sandbox.ExitTimeout, "did not answer any more"},
		{"network split", func(_ *os.Process, p *proxy) error { p.split(); return nil }, sandbox.ExitTimeout, "did not answer any more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ca := newAuthority(t)
			server := ca.server(t)
			proc, address := process(t, server)
			p := newProxy(t, address)
			// The other one comes when the first is lost: a program is not run again there.
			other, spare := start(t, ServerOptions{Files: server})
			r := New(Options{Addresses: []string{p.l.Addr().String(), spare}, Files: ca.client(t), Spares: -1}).(*runner)
			defer r.Close()
			r.lookUp(t.Context())
			r.backends[spare].count(+10) // so that the first one is taken
			calls := 0
			began := time.Now()
			res, err := r.Run(t.Context(), sandbox.Request{
				Language: sandbox.JavaScript, Code: `await callMCPTool("demo__write", {n: 1}); for (;;) await new Promise((r) => setTimeout(r, 10))`,
				Limits: sandbox.Limits{Timeout: time.Second},
				Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
					calls++
					return c.Args, tt.lose(proc, p)
				},
			})
			if err != nil || res.ExitCode != tt.code || !strings.Contains(res.Error, tt.says) || res.Calls != 1 || calls != 1 {
				t.Errorf("%d calls, %+v, %v", calls, res, err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if n := other.Stats(); n.Running+len(n.Ended) != 0 {
				t.Errorf("it was run again: %+v", n)
			}
			if res := run(t, r, "return 1 + 1", sandbox.Limits{}); string(res.Value) != "2" {
				t.Errorf("the next program: %+v", res)
			}
			if n := other.Stats().Ended["done"]; n != 1 {
				t.Errorf("the other server ran %d programs", n)
			}
		})
	}
}

// A program ends with its stream, and its place is free again.
func TestAProgramEndsWithItsBroker(t *testing.T) {
	ca := newAuthority(t)
	s, address := start(t, ServerOptions{Files: ca.server(t), Executions: 1})
	r := New(Options{Addresses: []string{address}, Files: ca.client(t)})
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	res, err := r.Run(ctx, sandbox.Request{
		Language: sandbox.JavaScript, Code: `await callMCPTool("x", {}); for (;;);`,
		Call: func(context.Context, sandbox.Call) (json.RawMessage, error) { cancel(); return nil, nil },
	})
	if err != nil || res.ExitCode != sandbox.ExitCanceled {
		t.Errorf("%+v %v", res, err)
	}
	eventually.True(t, "its place is free", func() bool { return s.Stats().Running == 0 })
}

// A server that has no place says so, and a program waits for one.
func TestBusy(t *testing.T) {
	t.Parallel() // it waits
	ca := newAuthority(t)
	s, address := start(t, ServerOptions{Files: ca.server(t), Executions: 1})
	r := New(Options{Addresses: []string{address}, Files: ca.client(t)})
	defer r.Close()
	running, release, ended := make(chan bool), make(chan bool), make(chan sandbox.Result, 1)
	go func() {
		res, _ := r.Run(context.WithoutCancel(t.Context()), sandbox.Request{
			Language: sandbox.JavaScript, Code: `return await callMCPTool("x", {})`,
			Call: func(context.Context, sandbox.Call) (json.RawMessage, error) {
				running <- true
				<-release
				return json.RawMessage("1"), nil
			},
		})
		ended <- res
	}()
	<-running
	res := run(t, r, "return 2", sandbox.Limits{})
	if res.ExitCode != sandbox.ExitRefused || !strings.Contains(res.Error, "1 of 1 sandboxd are busy") || !strings.Contains(res.Error, "0 tools called") {
		t.Errorf("%+v", res)
	}
	close(release)
	if first := <-ended; string(first.Value) != "1" {
		t.Errorf("the first program: %+v", first)
	}
	if res := run(t, r, "return 2", sandbox.Limits{}); string(res.Value) != "2" {
		t.Errorf("the next program: %+v", res)
	}
	if n := s.Stats(); n.Refused[refusedBusy] == 0 {
		t.Errorf("%+v", n)
	}
}

// Drain finishes what runs and takes nothing more.
func TestDrain(t *testing.T) {
	t.Parallel() // it waits
	ca := newAuthority(t)
	s, address := start(t, ServerOptions{Files: ca.server(t)})
	r := New(Options{Addresses: []string{address}, Files: ca.client(t)})
	defer r.Close()
	res, err := r.Run(t.Context(), sandbox.Request{
		Language: sandbox.JavaScript, Code: `return await callMCPTool("x", {})`,
		Call: func(context.Context, sandbox.Call) (json.RawMessage, error) {
			go s.Drain(context.WithoutCancel(t.Context()))
			eventually.True(t, "it drains", s.Draining)
			return json.RawMessage("7"), nil
		},
	})
	if err != nil || string(res.Value) != "7" {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := r.Run(t.Context(), sandbox.Request{Code: "1"}); err == nil || !strings.Contains(err.Error(), address+": it closed the connection") {
		t.Errorf("a program for a server that ends: %v", err)
	}
}
