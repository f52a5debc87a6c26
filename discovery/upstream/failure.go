package upstream

import (
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// A dialError is why a server could not be connected.
type dialError struct {
	err    error
	hint   string
	said   launch.Failure // what its output shows, when the error alone does not
	signIn bool
	// handled means that an OAuth handler said so. It knows by itself when to
	// ask the server again, so the next call may try at once.
	handled bool
}

// Error returns the cause that the server wrote, and then what that led to.
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

// Error returns the cause that the process wrote, and how it ended.
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

// said returns why the server failed, as its output shows, or else the output of the
// package manager that could not install it.
func (d *dialer) said() launch.Failure {
	f := launch.Explain(d.stderr.Lines(), d.dropped.Lines())
	if e, ok := errors.AsType[*packages.CommandError](d.failed); ok && e.Said.Known && !f.Known {
		f = e.Said
	}
	f.Cause = redact.Text(f.Cause)
	return f
}

// processHint returns what to do about a process that failed with err. To run it by hand
// is worth the time only if that prints more than is known.
func (d *dialer) processHint(err error, h *hide.Hider) string {
	said, wrote := d.said(), len(d.stderr.Lines())+len(d.dropped.Lines())
	switch {
	case said.Hint != "":
		return said.Hint
	case !said.Known && !d.direct && errors.Is(err, errNoAnswer) && launch.Runner(d.cfg.Command, d.cfg.Args) != "":
		return "it may still be downloading: run it once by hand, or raise its \"startTimeout\": " + d.byHand(h)
	case wrote == 0 && errors.Is(err, errNoAnswer):
		return "it wrote nothing: check that it speaks MCP over stdio; by hand: " + d.byHand(h)
	case wrote == 0 && !isProcess(err):
		return "" // an answer, which says it
	case wrote == 0:
		return "it wrote nothing; in a terminal it may say more: " + d.byHand(h)
	case d.stderr.Cut() || d.dropped.Cut():
		return "by hand it prints what is missing here: " + d.byHand(h)
	case wrote > 1:
		return launch.ByHand("broker", []string{"servers", "logs", d.cfg.Name}) + " shows all that it wrote"
	}
	return ""
}
