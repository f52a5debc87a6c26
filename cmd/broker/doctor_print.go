package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An examination is one run of doctor. It prints each check as it is known.
type examination struct {
	a *app

	mu   sync.Mutex // guards what follows, and the terminal
	seen diagnosis
	bad  []string // the names of checks that failed
}

// add adds checks that are not servers.
func (e *examination) add(checks ...check) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range checks {
		e.seen.Checks = append(e.seen.Checks, c)
		e.print(c)
	}
}

// servers examines the named servers, or all, at the same time. A server that is not
// named and whose tools are known is not waited for longer than a search waits.
func (e *examination) servers(ctx context.Context, s *session, names []string) {
	wait := time.Duration(0)
	if len(names) == 0 {
		wait = firstWait
		for _, st := range s.broker.Status() {
			names = append(names, st.Name)
		}
	}
	stop := e.a.showProgress(s, len(names))
	defer stop()
	rows := make([]check, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			known := 0
			if srv, ok := s.broker.Catalog().Server(name); ok {
				known = len(srv.Tools)
			}
			for _, st := range patient(ctx, wait, known > 0, func(ctx context.Context) []upstream.Status { return s.broker.Refresh(ctx, name) }) {
				c := checkServer(ctx, s, st)
				if errors.Is(st.Err, errStillStarting) {
					c.OK, c.Log, c.Output = true, nil, nil
					c.Detail = fmt.Sprintf("still starting after %s; it has listed %s before", spell(wait), counted(known, "tool"))
					c.Hint = "broker doctor " + name + ", to wait for it"
				}
				if errors.Is(st.Err, upstream.ErrUnknownServer) {
					c.Detail, c.Hint = "disabled: it was not started", "broker servers enable "+name
					c.OK = true
				}
				rows[i] = c
				e.mu.Lock()
				e.print(c)
				e.mu.Unlock()
			}
		})
	}
	wg.Wait()
	e.seen.Servers = rows
}

// errStillStarting means that a server was not waited for any longer.
var errStillStarting = errors.New("still starting")

// patient asks a server for its tools. If they are known, it gives up after wait, with
// errStillStarting as the error of each status; a wait of 0 has no end.
func patient(ctx context.Context, wait time.Duration, known bool, refresh func(context.Context) []upstream.Status) []upstream.Status {
	if !known || wait == 0 {
		return refresh(ctx)
	}
	ctx, stop := context.WithTimeoutCause(ctx, wait, errStillStarting)
	defer stop()
	list := refresh(ctx)
	if context.Cause(ctx) == errStillStarting {
		for i := range list {
			if list[i].Err != nil || list[i].Took == 0 { // what is known from before took no time
				list[i].Err = errStillStarting
			}
		}
	}
	return list
}

// print prints one check, unless it is to be JSON in the end; e.mu is held.
func (e *examination) print(c check) {
	if !c.OK {
		e.bad = append(e.bad, c.Name)
	}
	if e.a.json {
		return
	}
	e.a.line.Lock()
	defer e.a.line.Unlock()
	w := e.a.stdout
	if onTerminal(e.a.stderr) {
		progress(e.a.stderr, "")
	}
	mark := "ok  "
	if !c.OK {
		mark = "FAIL"
	}
	sayln(w, lines(folded(fmt.Sprintf("%s  %s: %s", mark, gate.Terminal(c.Name), indentedAfter("      ", gate.TerminalText(c.Detail))), widthOf(w), "      ")))
	for _, said := range []struct {
		where string
		lines []string
	}{{"stderr", c.Log}, {"stdout", c.Output}} {
		for _, line := range ends(said.lines) {
			say(w, "      %s | %s\n", said.where, oneLine(line, 160))
		}
	}
	if c.Hint != "" {
		say(w, "      do: %s\n", c.Hint)
	}
}

// ends are the first and the last of many lines: a program says what is wrong at
// the beginning of its output or at the end.
func ends(lines []string) []string {
	const some = 3
	if len(lines) <= 2*some+1 {
		return lines
	}
	list := append([]string(nil), lines[:some]...)
	list = append(list, fmt.Sprintf("… %d more lines: broker servers logs shows them", len(lines)-2*some))
	return append(list, lines[len(lines)-some:]...)
}

// end prints the summary, or everything as JSON, and is the error of the
// command.
func (e *examination) end(ctx context.Context) error {
	d := &e.seen
	d.OK = len(e.bad) == 0
	code := exitOK
	for _, c := range d.Servers {
		if !c.OK {
			code = exitServers
		}
	}
	for _, c := range d.Checks {
		if !c.OK {
			code = exitFailed
		}
	}
	if e.a.json {
		if err := e.a.printJSON(d); err != nil {
			return err
		}
	} else {
		sayln(e.a.stdout, e.summary())
		if len(e.bad) > 0 {
			sayln(e.a.stdout, "broker help troubleshooting says what to do about common failures")
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("doctor: interrupted")
	case code != exitOK:
		return &codeError{code: code}
	}
	return nil
}

// summary is the last line.
func (e *examination) summary() string {
	servers := counted(len(e.seen.Servers), "server")
	if len(e.seen.Servers) == 0 {
		servers = "no servers"
	}
	all := counted(len(e.seen.Checks), "check") + " and " + servers
	if len(e.bad) == 0 {
		return all + ": all is well"
	}
	return fmt.Sprintf("%s: %d failed: %s", all, len(e.bad), oneLine(strings.Join(e.bad, ", "), 200))
}
