package main

import (
	"cmp"
	"sync"

	"github.com/mcpbroker/mcpbroker/state"
)

// A journal counts the bytes of executions. The broker passes it each execution and
// each call; a program that stores the record would use package state/sqlite or
// state/postgres here.
type journal struct {
	mu    sync.Mutex
	bytes bytes
}

var _ state.Journal = (*journal)(nil)

// bytes are the sizes of the results that the sandbox received, and of the answer for
// the model.
type bytes struct {
	in, out int64
}

func (j *journal) Begin(e state.Execution) string { return cmp.Or(e.ID, state.NewID()) }

func (j *journal) Record(state.Call) {}

func (j *journal) Finish(e state.Execution) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bytes.in += e.BytesIn
	j.bytes.out += e.BytesOut
	return nil
}

func (j *journal) Note(state.Event) {}

func (j *journal) total() bytes {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bytes
}
