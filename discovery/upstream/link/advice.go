package link

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/discovery/transport"
	"github.com/mcpbroker/mcpbroker/internal/outbound"
)

// AuthHint is what to do about a *transport.AuthError.
const AuthHint = "try again later; broker auth status says how the sign-in stands"

// An adviser says what to do about an error of one server.
type adviser struct {
	server Server
	output
	direct bool // the program of a package was started without its runner
}

// explain adds what to do about err and hides resolved values in it.
func (d *adviser) explain(err error, h *hide.Hider) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Err: err}
	}
	if e.Hint == "" {
		e.Hint = d.hint(e.Err, h)
	}
	e.Hint = h.In(e.Hint)
	e.said.Cause = h.In(e.said.Cause)
	e.Err = h.InErr(e.Err)
	return e
}

func (d *adviser) hint(err error, h *hide.Hider) string {
	if status, ok := errors.AsType[*StatusError](err); ok {
		switch {
		case status.Status == http.StatusUnauthorized:
			return fmt.Sprintf(`give %s valid credentials in its "headers", for example "Authorization": "Bearer ${TOKEN}"`, d.server.Name)
		case status.Status == http.StatusForbidden:
			return `check that the credentials in "headers" may use this server`
		case status.Status == http.StatusNotFound || status.Status == http.StatusMethodNotAllowed:
			return `check the path of "url"; MCP endpoints often end in /mcp or /sse`
		}
		return "try again later, or ask the operator of the server"
	}
	if _, ok := errors.AsType[*transport.AuthError](err); ok {
		return AuthHint
	}
	if e, ok := errors.AsType[*outbound.RedirectError](err); ok {
		return fmt.Sprintf(`if that is the server, correct "url" to begin with %s`, e.To)
	}
	if e, ok := errors.AsType[*outbound.TLSError](err); ok { // its text contains the advice
		test := launch.ByHand("broker", []string{"servers", "test", d.server.Name})
		if e.CertFile {
			return "SSL_CERT_FILE=authority.pem " + test
		}
		return test + ", when that is done"
	}
	if _, ok := errors.AsType[net.Error](err); ok && d.server.Command == "" {
		return `check "url" and the network`
	}
	if _, ok := errors.AsType[*exec.Error](err); ok || errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return launch.StartHint(d.server.Command, err)
	}
	stderr, dropped := d.lines()
	if hint := launch.DamageHint(stderr); hint != "" {
		return hint
	}
	if d.server.Command != "" {
		return d.processHint(err, h, len(stderr)+len(dropped))
	}
	return `check "url" and "type"`
}

// processHint returns the advice for a process that failed with err. It suggests to run
// the command by hand only if the cause is not known. wrote is the number of lines that
// it wrote.
func (d *adviser) processHint(err error, h *hide.Hider, wrote int) string {
	said := d.said()
	switch {
	case said.Hint != "":
		return said.Hint
	case !said.Known && !d.direct && errors.Is(err, errNoAnswer) && launch.Runner(d.server.Command, d.server.Args) != "":
		return "it may still be downloading: run it once by hand, or raise its \"startTimeout\": " + d.byHand(h)
	case wrote == 0 && errors.Is(err, errNoAnswer):
		return `it wrote nothing: check "command" and "args", and that it speaks MCP over stdio`
	case wrote == 0 && !isProcess(err):
		return "" // the server answered, and the answer is shown
	case wrote == 0:
		return `it wrote nothing: check "command" and "args"`
	case d.Stderr.Cut() || d.Dropped.Cut():
		return "run it by hand to see all of its output: " + d.byHand(h)
	case wrote > 1:
		return launch.ByHand("broker", []string{"servers", "logs", d.server.Name}) + " shows all of its output"
	}
	return ""
}

// byHand is the command as one types it into a shell.
func (d *adviser) byHand(h *hide.Hider) string {
	args := make([]string, len(d.server.Args))
	for i, a := range d.server.Args {
		args[i] = h.In(a)
	}
	return launch.ByHand(h.In(d.server.Command), args)
}
