package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/await"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An examination is one run of doctor. It prints each check as it is known.
type examination struct {
	Options
	t       *cli.IO
	session *application.App
	waits   bool // until each server is listed or has failed
	daemon  bool // states are those of a running daemon

	others chan struct{} // closed when everything but the servers is added

	mu   sync.Mutex // guards what follows, and the terminal
	busy []string   // names of checks that are being made
	seen Diagnosis
	bad  []string // the names of checks that failed
}

// A look is one or more checks that are made together.
type look struct {
	name string
	make func(context.Context) []Check
}

// errNotWaited ends checks that doctor does not wait for any longer.
var errNotWaited = errors.New("doctor does not wait any longer")

// look makes all checks at the same time, beside those of the servers.
func (e *examination) look(ctx context.Context, list []look) {
	e.others = make(chan struct{})
	var servers sync.WaitGroup
	if e.waits {
		servers.Go(func() { e.refresh(ctx) })
	} else {
		servers.Go(func() { e.learn(ctx) })
	}
	e.lookAt(ctx, list)
	close(e.others)
	servers.Wait()
}

// lookAt makes all checks at the same time, and adds them in this order. A check that has
// not succeeded by the end of ctx is unchecked.
func (e *examination) lookAt(ctx context.Context, list []look) {
	results := make([]chan []Check, len(list))
	e.mu.Lock()
	for _, l := range list {
		e.busy = append(e.busy, l.name)
	}
	e.mu.Unlock()
	for i, l := range list {
		results[i] = make(chan []Check, 1)
		go func() {
			checks := l.make(ctx)
			if context.Cause(ctx) == errNotWaited {
				unfinished(checks, time.Since(e.Begun))
			}
			e.mu.Lock()
			e.busy = slices.DeleteFunc(e.busy, func(name string) bool { return name == l.name })
			e.mu.Unlock()
			results[i] <- checks
		}()
	}
	for _, result := range results {
		e.add(<-result...)
	}
}

// unfinished marks the checks that have not succeeded in time as unchecked.
func unfinished(checks []Check, after time.Duration) {
	for i, c := range checks {
		if !c.OK {
			checks[i] = Check{Name: c.Name, OK: true, Unchecked: true,
				Detail: "not checked: no answer after " + cli.Duration(after), Hint: "broker doctor --refresh, to wait for it"}
		}
	}
}

// watch shows on a terminal what is being checked and for how long, until done is called.
// A key calls goOn.
func (e *examination) watch(ctx context.Context, goOn func()) (done func()) {
	progress := func() string {
		e.mu.Lock()
		defer e.mu.Unlock()
		var doing []string
		for _, name := range e.busy {
			doing = append(doing, fmt.Sprintf("%s, %s", name, cli.Duration(time.Since(e.Begun))))
		}
		for _, st := range await.Starting(e.session) {
			doing = append(doing, fmt.Sprintf("%s %s, %s", st.Name, st.Doing, cli.Duration(time.Since(st.Since))))
		}
		if len(doing) == 0 {
			return ""
		}
		return "checking " + cli.OneLine(strings.Join(doing, "; "), 300)
	}
	return e.t.MeterUntilKey(ctx, progress, "what is still being checked", goOn)
}

// add adds checks that are not servers.
func (e *examination) add(checks ...Check) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range checks {
		e.seen.Checks = append(e.seen.Checks, c)
		e.print(c)
	}
}

// print prints one check, unless it is to be JSON in the end; e.mu is held.
func (e *examination) print(c Check) {
	switch {
	case !c.OK:
		e.bad = append(e.bad, c.Name)
	case c.Unchecked:
		e.seen.Unchecked = append(e.seen.Unchecked, c.Name)
	}
	if e.t.JSON {
		return
	}
	e.t.Lock()
	defer e.t.Unlock()
	w := e.t.Out
	mark := "ok  "
	switch {
	case !c.OK:
		mark = "FAIL"
	case c.Unchecked && !c.recalled:
		mark = "?   "
	}
	cli.Fprintln(w, cli.Lines(cli.Fold(fmt.Sprintf("%s  %s: %s", mark, gate.Terminal(c.Name), cli.IndentAfter("      ", gate.TerminalText(c.Detail))), cli.Width(w), "      ")))
	for _, said := range []struct {
		where string
		lines []string
	}{{"stderr", c.Log}, {"stdout", c.Output}} {
		for _, line := range ends(said.lines) {
			cli.Fprintf(w, "      %s | %s\n", said.where, cli.OneLine(line, 160))
		}
	}
	if c.Hint != "" && !c.recalled {
		cli.Fprintf(w, "      do: %s\n", cli.Hint(gate.Terminal(c.Hint)))
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
	d.Unchecked = cli.OrEmpty(d.Unchecked)
	d.OK = len(e.bad) == 0
	code := cli.ExitOK
	for _, c := range d.Servers {
		if !c.OK {
			code = cli.ExitServers
		}
	}
	for _, c := range d.Checks {
		if !c.OK {
			code = cli.ExitFailed
		}
	}
	if e.t.JSON {
		if err := e.t.PrintJSON(d); err != nil {
			return err
		}
	} else {
		cli.Fprintln(e.t.Out, e.summary())
		if len(e.seen.Unchecked) > 0 && !e.waits {
			cli.Fprintln(e.t.Out, cli.Hint("broker doctor --refresh starts every server and waits for it; broker servers test NAME does for one"))
		}
		if len(e.bad) > 0 {
			cli.Fprintln(e.t.Out, cli.Hint("broker help troubleshooting says what to do about common failures"))
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("doctor: interrupted")
	case code != cli.ExitOK:
		return cli.Exit(code, nil)
	}
	return nil
}

// summary is the last line.
func (e *examination) summary() string {
	servers := cli.Count(len(e.seen.Servers), "server")
	if len(e.seen.Servers) == 0 {
		servers = "no servers"
	}
	all := cli.Count(len(e.seen.Checks), "check") + " and " + servers
	left := ""
	if n := len(e.seen.Unchecked); n > 0 {
		left = fmt.Sprintf("; %d not checked now", n)
	}
	switch {
	case len(e.bad) > 0:
		return fmt.Sprintf("%s: %d failed: %s%s", all, len(e.bad), cli.OneLine(strings.Join(e.bad, ", "), 200), left)
	case left != "":
		return all + ": nothing is known to be wrong" + left
	}
	return all + ": all is well"
}
