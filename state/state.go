// Package state defines the contracts for what the broker keeps between requests, for
// any number of implementations: executions and their calls, events, learned types,
// results, values, pins and documents.
//
// A [Backend] has all of them: [github.com/mcpbroker/mcpbroker/state/local] for one
// machine, [github.com/mcpbroker/mcpbroker/state/shared] for any number. A contract
// assumes neither one process nor a file: its promises hold for several brokers that
// share one state, and package statetest checks them. Only the programs choose an
// implementation.
package state

import "errors"

var (
	// ErrNotFound means that there is nothing under a name, that it has expired,
	// or that it belongs to another client.
	ErrNotFound = errors.New("not found")
	// ErrClosed is the error of methods after Close.
	ErrClosed = errors.New("state is closed")
)

// Local is the client that is the user of the state: who runs the broker over
// stdio, or a command.
const Local = ""

// A LimitError is a limit that a client has reached, in words for the author of the
// script that reached it.
type LimitError struct{ Text string }

// Error returns the text.
func (e *LimitError) Error() string { return e.Text }
