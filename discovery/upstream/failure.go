package upstream

import (
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// A dialError is the reason a server could not be connected.
type dialError struct {
	err    error
	hint   string
	said   launch.Failure // from its output, if the error alone is not enough
	signIn bool
	// handled means that the error comes from an OAuth handler, which itself decides
	// when to ask the server again, so the next call may try at once.
	handled bool
}

// Error returns the cause from the server's output, and then the resulting error.
func (e *dialError) Error() string {
	switch {
	case e.said.Cause == "":
		return e.err.Error()
	case e.said.Known:
		return fmt.Sprintf("%s (%v)", e.said.Cause, e.err)
	}
	return e.err.Error() + "; it wrote: " + e.said.Cause
}

func (e *dialError) Unwrap() error { return e.err }

// A processError means that the process of a server ended.
type processError struct {
	status string
	said   launch.Failure
}

// Error returns the cause from the process's output, and how the process ended.
func (e *processError) Error() string {
	text := "the server process ended: " + e.status
	switch {
	case e.said.Cause == "":
		return text
	case e.said.Known:
		return e.said.Cause + " (" + text + ")"
	}
	return text + ": " + e.said.Cause
}

func isProcess(err error) bool {
	_, ok := errors.AsType[*processError](err)
	return ok
}

// said returns the reason a server failed, read from its output or from that of the
// package manager that could not install it.
func (d *dialer) said() launch.Failure {
	f := launch.Explain(d.stderr.Lines(), d.dropped.Lines())
	if e, ok := errors.AsType[*packages.CommandError](d.failed); ok && e.Said.Known && !f.Known {
		f = e.Said
	}
	f.Cause = redact.Text(f.Cause)
	return f
}

// processHint returns the advice for a process that failed with err. It suggests to run
// the command by hand only if the cause is not known.
func (d *dialer) processHint(err error, h *hide.Hider) string {
	said, wrote := d.said(), len(d.stderr.Lines())+len(d.dropped.Lines())
	switch {
	case said.Hint != "":
		return said.Hint
	case !said.Known && !d.direct && errors.Is(err, errNoAnswer) && launch.Runner(d.cfg.Command, d.cfg.Args) != "":
		return "it may still be downloading: run it once by hand, or raise its \"startTimeout\": " + d.byHand(h)
	case wrote == 0 && errors.Is(err, errNoAnswer):
		return `it wrote nothing: check "command" and "args", and that it speaks MCP over stdio`
	case wrote == 0 && !isProcess(err):
		return "" // the server answered, and the answer is shown
	case wrote == 0:
		return `it wrote nothing: check "command" and "args"`
	case d.stderr.Cut() || d.dropped.Cut():
		return "run it by hand to see all of its output: " + d.byHand(h)
	case wrote > 1:
		return launch.ByHand("broker", []string{"servers", "logs", d.cfg.Name}) + " shows all of its output"
	}
	return ""
}
