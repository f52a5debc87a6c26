package attack

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Tools are the tools of the server "demo", which attacks call.
var Tools = []string{"echo", "slow", "bait"}

// A target answers the calls of an attack, and counts them. A tool "slow" never
// answers; a tool "bait" tells of a file and a port of this process that no
// program can reach.
type target struct {
	mu               sync.Mutex
	n, running, most int
	bait             *bait // nil until it was asked for
}

func (t *target) call(ctx context.Context, c sandbox.Call) (json.RawMessage, error) {
	t.mu.Lock()
	t.n++
	t.running++
	t.most = max(t.most, t.running)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.running--
		t.mu.Unlock()
	}()
	switch {
	case strings.HasSuffix(c.Target, "slow"):
		<-ctx.Done()
		return nil, ctx.Err()
	case strings.HasSuffix(c.Target, "bait"):
		return t.lay()
	}
	return c.Args, nil
}

func (t *target) made() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// A bait is what an attack may try to get hold of.
type bait struct {
	Path string `json:"path"`
	Port int    `json:"port"`

	listener net.Listener
	taken    chan bool // receives one value after the end of the listener
}

// lay returns the bait, which it makes once.
func (t *target) lay() (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bait == nil {
		f, err := os.CreateTemp("", "bait")
		if err != nil {
			return nil, err
		}
		f.WriteString("the secret of the host")
		f.Close()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			os.Remove(f.Name())
			return nil, err
		}
		t.bait = &bait{Path: f.Name(), Port: l.Addr().(*net.TCPAddr).Port, listener: l, taken: make(chan bool, 1)}
		go t.bait.listen()
	}
	return json.Marshal(t.bait)
}

// listen waits for somebody to connect.
func (b *bait) listen() {
	taken := false
	for {
		c, err := b.listener.Accept()
		if err != nil {
			b.taken <- taken
			return
		}
		taken = true
		c.Close()
	}
}

// reached ends the listening, and says whether somebody had connected.
func (t *target) reached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bait == nil {
		return false
	}
	t.bait.listener.Close()
	taken := <-t.bait.taken
	t.bait.taken <- taken // who asks again gets the same
	return taken
}

// end removes what an attack was offered.
func (t *target) end() {
	t.reached()
	if t.bait != nil {
		os.Remove(t.bait.Path)
	}
}
