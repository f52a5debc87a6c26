package link

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/packages"
	"github.com/mcpbroker/mcpbroker/internal/lines"
	"github.com/mcpbroker/mcpbroker/internal/redact"
)

// Output is what the process of a server wrote last. The zero value stores nothing.
type Output struct {
	// Stderr is what it wrote there, and Dropped are the lines of its stdout that are not
	// messages.
	Stderr, Dropped *lines.Ring
}

// NewOutput returns an output in which nothing is written yet.
func NewOutput() Output { return Output{lines.NewRing(), lines.NewRing()} }

// lines returns both, each with the earliest first.
func (o Output) lines() (stderr, dropped []string) {
	if o.Stderr != nil {
		stderr = o.Stderr.Lines()
	}
	if o.Dropped != nil {
		dropped = o.Dropped.Lines()
	}
	return stderr, dropped
}

// reset forgets what was written.
func (o Output) reset() {
	o.Stderr.Reset()
	o.Dropped.Reset()
}

// output is the output of one attempt.
type output struct {
	Output
	failed error // error of installing the package, or nil
}

// said returns the reason a server failed, read from its output or from that of the
// package manager that could not install it.
func (o output) said() launch.Failure {
	f := launch.Explain(o.lines())
	if e, ok := errors.AsType[*packages.CommandError](o.failed); ok && e.Said.Known && !f.Known {
		f = e.Said
	}
	f.Cause = redact.Text(f.Cause)
	return f
}

// died adds how the process ended to err, if that is the cause.
func (o output) died(err error, p *launch.Process) error {
	if p == nil {
		return err
	}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && rpc.Code > -32000 {
		return err // an answer
	}
	status, ended := p.Ended()
	if !ended {
		return &Error{Err: err, said: o.said()}
	}
	return &processError{status: status, said: o.said()}
}
