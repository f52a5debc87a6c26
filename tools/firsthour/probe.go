package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"sync"
	"time"
)

// probeTime bounds the start of one server.
const probeTime = 3 * time.Minute

// probeAll starts each server as its client does, two at a time, and returns which
// ones list tools.
func (h *home) probeAll(ctx context.Context) map[string]bool {
	works := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, 2)
	for _, e := range h.entries {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ok := h.probe(ctx, e)
			mu.Lock()
			defer mu.Unlock()
			works[e.key()] = ok
		})
	}
	wg.Wait()
	return works
}

// probe reports whether the server lists tools.
func (h *home) probe(ctx context.Context, e entry) bool {
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	cmd := exec.CommandContext(ctx, e.command[0], e.command[1:]...)
	cmd.Dir, cmd.Env = h.project, h.environ()
	for name, value := range e.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return false
	}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return false
	}
	defer func() {
		_ = in.Close()
		stop()
		_ = cmd.Wait()
	}()
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"firsthour","version":"1"}}}`+"\n")
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Result struct{ Tools []json.RawMessage }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch string(m.ID) {
		case "1":
			_, _ = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n")
		case "2":
			return len(m.Result.Tools) > 0
		}
	}
	return false
}
