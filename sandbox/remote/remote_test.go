package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/sandboxtest"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// The test binary is the child of its servers, and with an argument a server.
func TestMain(m *testing.M) {
	if worker.IsChild() {
		worker.Main()
	}
	if len(os.Args) > 1 && os.Args[1] == argServer {
		serverMain(os.Args[2:])
	}
	eventually.Overlap()
	os.Exit(m.Run())
}

// start runs a server in this process, and returns its address.
func start(t testing.TB, o ServerOptions) (*Server, string) {
	t.Helper()
	s, err := NewServer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
		if n := s.Stats(); n.Running != 0 || n.Streams != 0 {
			t.Errorf("at the end %d programs run, and %d streams are open", n.Running, n.Streams)
		}
	})
	return s, l.Addr().String()
}

func TestSuite(t *testing.T) {
	ca := newAuthority(t)
	_, address := start(t, ServerOptions{Files: ca.server(t), Executions: 64, Timeout: 2 * time.Hour})
	files := ca.client(t)
	sandboxtest.Run(t, func(*testing.T) sandbox.Runner {
		return New(Options{Addresses: []string{address}, Files: files})
	}, sandboxtest.JavaScript, sandboxtest.Containment)
}

// run runs a program whose calls answer, each with its argument.
func run(t testing.TB, r sandbox.Runner, code string, limits sandbox.Limits) sandbox.Result {
	t.Helper()
	res, err := r.Run(context.WithoutCancel(t.Context()), sandbox.Request{
		Language: sandbox.JavaScript, Code: code, Limits: limits,
		Call: func(_ context.Context, c sandbox.Call) (json.RawMessage, error) { return c.Args, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestTwoServersShareTheLoad(t *testing.T) {
	ca := newAuthority(t)
	server := ca.server(t)
	one, a := start(t, ServerOptions{Files: server})
	two, b := start(t, ServerOptions{Files: server})
	r := New(Options{Addresses: []string{a, b}, Files: ca.client(t)})
	defer r.Close()
	for i := range 20 {
		if res := run(t, r, fmt.Sprint("return ", i), sandbox.Limits{}); string(res.Value) != fmt.Sprint(i) {
			t.Fatalf("%+v", res)
		}
	}
	if n, m := one.Stats().Ended["done"], two.Stats().Ended["done"]; n == 0 || m == 0 || n+m != 20 {
		t.Errorf("%d and %d programs ran", n, m)
	}
}

const argServer = "sandboxd"

// serverMain is a server in a process of its own: it prints its address.
func serverMain(args []string) {
	s, err := NewServer(context.Background(), ServerOptions{Files: Files{args[0], args[1], args[2]}, Build: "test"})
	if err == nil {
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			fmt.Println(l.Addr())
			err = s.Serve(l)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
