// Package output keeps what a script prints and returns: within the budget of an answer, and as
// stored data of the client where it is longer.
package output

import (
	"context"
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/results"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Stream stores a stream that is too long for the answer. A failure costs only the
// reference, not the execution. A nil Stream stores nothing.
type Stream struct {
	create  func() (state.ResultWriter, error)
	onError func(error)
	w       state.ResultWriter
	failed  bool
}

// A Store stores the results and long outputs of an execution for its client.
type Store struct {
	Results state.Results // nil stores nothing
	Owner   string
	Uncut   bool // the answer is never cut, so nothing needs to be stored
	OnError func(error)
}

// Stream returns a store for a stream, or nil if nothing is cut or stored.
func (k *Store) Stream() *Stream {
	if k.Results == nil || k.Uncut {
		return nil
	}
	return &Stream{onError: k.OnError, create: func() (state.ResultWriter, error) {
		return k.Results.Create(context.Background(), k.Owner, state.Text)
	}}
}

// Put stores data and returns its reference, or "" if that failed.
func (k *Store) Put(mimeType string, data []byte) string {
	if k.Results == nil {
		return ""
	}
	ref, err := results.Put(context.Background(), k.Results, k.Owner, mimeType, data)
	if err != nil {
		k.OnError(err)
	}
	return ref
}

func (k *Stream) started() bool { return k != nil && (k.w != nil || k.failed) }

func (k *Stream) write(parts ...[]byte) {
	if k == nil || k.failed {
		return
	}
	var err error
	if k.w == nil {
		k.w, err = k.create()
	}
	for _, p := range parts {
		if err == nil {
			_, err = k.w.Write(p)
		}
	}
	if err != nil {
		k.Discard()
		k.failed = true
		k.onError(err)
	}
}

// commit returns the reference of the stored data, or "".
func (k *Stream) commit() string {
	if k == nil || k.w == nil {
		return ""
	}
	ref, err := k.w.Commit()
	k.w = nil
	if err != nil {
		k.onError(err)
	}
	return ref
}

// Discard drops data that was written and not committed.
func (k *Stream) Discard() {
	if k != nil && k.w != nil {
		k.w.Discard()
		k.w = nil
	}
}

// restart drops written data before a run is repeated.
func (k *Stream) restart() {
	k.Discard()
	if k != nil {
		k.failed = false
	}
}

// ReadRest returns a hint with the code that reads the rest in the next script.
func ReadRest(ref, options string) string {
	if ref == "" {
		return ""
	}
	return fmt.Sprintf(", or read it in the next script: results.get('%s', %s)", ref, options)
}
