package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A session is a client of a program that speaks MCP on stdio.
type session struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	id    int
	begun time.Time
	stop  func()
}

// sessionTime bounds one session.
const sessionTime = 2 * time.Minute

// start starts the program; its session ends after sessionTime.
func start(ctx context.Context, command func(context.Context) *exec.Cmd) (*session, error) {
	ctx, stop := context.WithTimeout(ctx, sessionTime)
	s := &session{cmd: command(ctx), stop: stop, begun: time.Now()}
	in, err1 := s.cmd.StdinPipe()
	out, err2 := s.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		stop()
		return nil, err
	}
	s.in, s.out = in, bufio.NewReaderSize(out, 1<<20)
	if err := s.cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	return s, nil
}

// initialize sends the handshake and returns the time since the program's start.
func (s *session) initialize() (time.Duration, error) {
	_, err := s.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"compare","version":"1"}}`)
	took := time.Since(s.begun)
	if err == nil {
		_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	return took, err
}

// request returns the result of a request.
func (s *session) request(method, params string) (json.RawMessage, error) {
	s.id++
	if _, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.id, method, params); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		var m struct {
			ID     any
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		if m.Method != "" || m.ID != float64(s.id) {
			continue // a notification
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	}
}

// call calls a tool and fails unless its answer contains want.
func (s *session) call(tool, arguments, want string) (time.Duration, error) {
	begun := time.Now()
	result, err := s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
	took := time.Since(begun)
	if err != nil {
		return 0, err
	}
	var r struct{ IsError bool }
	if err := json.Unmarshal(result, &r); err != nil {
		return 0, err
	}
	if r.IsError || !strings.Contains(string(result), want) {
		return 0, fmt.Errorf("%s: want %q in %.500s", tool, want, result)
	}
	return took, nil
}

// close ends the session and waits for the program.
func (s *session) close() error {
	defer s.stop()
	_ = s.in.Close()
	_, _ = io.Copy(io.Discard, s.out)
	return s.cmd.Wait()
}
