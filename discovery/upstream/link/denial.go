package link

import (
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbroker/mcpbroker/discovery/transport"
)

// A Denial is an answer that may mean that a session is gone.
type Denial struct {
	status int   // of HTTP; zero for a JSON-RPC error
	code   int64 // of JSON-RPC
	// Unsent is set if the tool cannot have run, since the request itself was refused.
	Unsent bool
}

// DenialIn returns the denial in err, or false if err cannot mean that a session is
// gone.
func DenialIn(err error) (r Denial, ok bool) {
	status := 0
	if e, is := errors.AsType[*transport.StatusError](err); is {
		status = e.Status
	} else if e, is := errors.AsType[*refusedError](err); is {
		status = e.status
	}
	if status != 0 {
		switch status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
			http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
			return r, false
		}
		// A gateway may answer 500 with the refusal of a server behind it.
		return Denial{status: status, Unsent: status < 500}, status >= 400 && status <= 500
	}
	e, is := errors.AsType[*jsonrpc.Error](err)
	if !is {
		return r, false
	}
	switch e.Code {
	case jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams, -32002: // nothing has run; the last is "not initialized"
		return Denial{code: e.Code, Unsent: true}, true
	case -32000, -32001, 0: // libraries use these for any error
		return Denial{code: e.Code}, true
	}
	return r, false
}

// Like reports whether both are the same answer.
func (r Denial) Like(other Denial) bool { return r.status == other.status && r.code == other.code }
