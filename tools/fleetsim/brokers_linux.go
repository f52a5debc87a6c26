package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A fleetOf real brokers on this machine.
type fleetOf struct {
	dir     string
	brokers []*exec.Cmd
	urls    []string
}

// startBrokers starts n brokers that share a database, and waits until they answer.
func startBrokers(ctx context.Context, program, state string, n int) (f *fleetOf, err error) {
	dir, err := os.MkdirTemp("", "fleetsim")
	if err != nil {
		return nil, err
	}
	f = &fleetOf{dir: dir}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	config, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"meter": map[string]any{"command": self, "args": []string{"upstream"}}},
		"broker":     map[string]any{"state": state},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "servers.json"), config, 0o600)
	}
	if err != nil {
		return f, err
	}
	for i := range n {
		addr, err := freeAddr()
		if err != nil {
			return f, err
		}
		cmd := exec.CommandContext(ctx, program, "serve", "--http", addr, "--config", filepath.Join(dir, "servers.json"), "--state-dir", filepath.Join(dir, strconv.Itoa(i)))
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.log", i)))
		if err != nil {
			return f, err
		}
		defer log.Close()
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			return f, err
		}
		f.brokers, f.urls = append(f.brokers, cmd), append(f.urls, "http://"+addr)
	}
	for i := range f.urls {
		if err := f.ready(ctx, i); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (f *fleetOf) ready(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if f.client(i).execute(ctx, `await callMCPTool('meter__read', {n: 0}); return 1`) == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	log, err := os.ReadFile(filepath.Join(f.dir, fmt.Sprintf("%d.log", i)))
	return errors.Join(fmt.Errorf("broker %d is not ready: %s", i, log), err)
}

func (f *fleetOf) stop() {
	for _, b := range f.brokers {
		warn(b.Process.Signal(syscall.SIGTERM))
	}
	for _, b := range f.brokers {
		_ = b.Wait() // it was told to end
	}
	warn(os.RemoveAll(f.dir))
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// A usage is processor time so far, in ms.
type usage struct{ broker, postgres, client float64 }

// usage reads that of the brokers with all that they have started, of this process,
// and of every process of PostgreSQL on this machine.
func (f *fleetOf) usage() (usage, error) {
	var u usage
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		return u, err
	}
	u.client = float64(self.Utime.Nano()+self.Stime.Nano()) / 1e6
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return u, err
	}
	type process struct {
		name          string
		parent        int
		own, children float64
	}
	all := map[int]process{}
	for _, path := range processes {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// proc(5): pid (comm) state ppid … utime stime cutime cstime, fields 14 to 17.
		open, closing := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
		fields := strings.Fields(string(b[closing+1:]))
		if open < 0 || len(fields) < 15 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		ticks := func(i int) float64 { n, _ := strconv.ParseFloat(fields[i], 64); return n * 10 }
		all[pid] = process{string(b[open+1 : closing]), parent, ticks(11) + ticks(12), ticks(13) + ticks(14)}
	}
	for pid, p := range all {
		if p.name == "postgres" {
			u.postgres += p.own
			if all[p.parent].name != "postgres" {
				u.postgres += p.children // of connections that have ended
			}
		}
		for up := pid; up > 1; up = all[up].parent {
			if f.has(up) {
				u.broker += p.own + p.children
				break
			}
		}
	}
	return u, nil
}

func (f *fleetOf) has(pid int) bool {
	for _, b := range f.brokers {
		if b.Process.Pid == pid {
			return true
		}
	}
	return false
}

// calls are to brokers that this program has started.
var calls = &http.Client{Timeout: 2 * time.Minute}

// A caller is one client: a session at one broker.
type caller struct {
	url, session string
}

func (f *fleetOf) client(i int) *caller { return &caller{url: f.urls[i%len(f.urls)] + "/mcp"} }

// execute runs a script to its end.
func (c *caller) execute(ctx context.Context, script string) error {
	if c.session == "" {
		_, session, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "fleetsim", "version": "1"}}})
		if err != nil {
			return err
		}
		c.session = session
		if _, _, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}); err != nil {
			return err
		}
	}
	body, _, err := c.post(ctx, map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{
		"name": "execute_code", "arguments": map[string]any{"code": script, "language": "javascript"}}})
	if err != nil {
		return err
	}
	if !bytes.Contains(body, []byte(`\"exit_code\":0`)) {
		return fmt.Errorf("an execution failed: %.500s", body)
	}
	return nil
}

func (c *caller) post(ctx context.Context, message any) (body []byte, session string, err error) {
	b, err := json.Marshal(message)
	if err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(b))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := calls.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %.300s", res.Status, body)
	}
	return body, res.Header.Get("Mcp-Session-Id"), err
}
