package learned

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// load reads what is stored, once.
func (s *Store) load() error {
	if s.loaded.Load() {
		return nil
	}
	s.file.Lock()
	defer s.file.Unlock()
	return s.loadLocked()
}

// loadLocked is like load, for callers that hold file.
func (s *Store) loadLocked() error {
	if s.loaded.Load() {
		return nil
	}
	defer s.loaded.Store(true)
	ctx := context.Background()
	key, err := s.types.Key(ctx, nil)
	if err != nil {
		return err
	}
	rows, err := s.types.All(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != nil {
		s.hash = key
	}
	for _, r := range rows {
		e := &entry{version: r.Version}
		if json.Unmarshal(r.Body, &e.learnedTool) == nil {
			s.tools[r.ToolName] = e
		}
	}
	return nil
}

func newHasher() hasher {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}

// agreeOnKey agrees with other processes on the key of the hashes.
func (s *Store) agreeOnKey() error {
	s.mu.Lock()
	mine := s.hash
	s.mu.Unlock()
	key, err := s.types.Key(context.Background(), mine)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(key, s.hash) {
		// Keys that were hashed with another key cannot be compared.
		s.hash = key
		for _, e := range s.tools {
			e.version = -1
		}
	}
	return nil
}

// flushDelay is the time for which FlushSoon collects changes, so that consecutive
// calls share one transaction.
const flushDelay = 200 * time.Millisecond

// FlushSoon writes the learned types in the background, flushDelay after the first call or when
// the store is closed.
func (s *Store) FlushSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushScheduled || s.closed || !s.dirty() {
		return
	}
	s.flushScheduled = true
	s.background.Go(func() {
		delay := time.NewTimer(flushDelay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-s.ending:
		}
		s.mu.Lock()
		s.flushScheduled = false
		s.mu.Unlock()
		err := s.Flush()
		if err != nil {
			s.log.Warn("write learned types", "err", err)
		}
	})
}

func (s *Store) dirty() bool {
	for _, e := range s.tools {
		if len(e.queued) > 0 {
			return true
		}
	}
	return false
}

// A change contains the results for one tool since it was last written.
type change struct {
	e       *entry
	queued  []queued
	version int64
	body    []byte
	merged  *learnedTool // the row of another process merged with queued, or nil
}

// Flush writes the results since the last Flush. Learning continues meanwhile.
func (s *Store) Flush() error {
	s.file.Lock()
	defer s.file.Unlock()
	s.mu.Lock()
	dirty := s.dirty()
	s.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := s.agreeOnKey(); err != nil {
		return err
	}
	tools, changes, hash, err := s.changes()
	var rows []state.TypeRow
	if err == nil {
		rows, err = s.types.Change(context.Background(), tools, func(r state.TypeRow) ([]byte, error) { return changes[r.ToolName].on(r, hash) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		for _, c := range changes {
			c.e.queued = append(c.queued, c.e.queued...)
		}
		return fmt.Errorf("write learned types: %w", err)
	}
	for _, r := range rows {
		c := changes[r.ToolName]
		if c.merged != nil {
			for _, q := range c.e.queued {
				c.merged.merge(s.hash, q)
			}
			c.e.learnedTool, c.e.schema = *c.merged, nil
		}
		c.e.version = r.Version
	}
	return nil
}

// changes takes the queued results, with the types learned from them.
func (s *Store) changes() (tools []state.ToolName, changes map[state.ToolName]*change, hash hasher, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes = map[state.ToolName]*change{}
	for k, e := range s.tools {
		if len(e.queued) == 0 {
			continue
		}
		body, err := json.Marshal(&e.learnedTool)
		if err != nil {
			return nil, changes, nil, err
		}
		tools = append(tools, k)
		changes[k] = &change{e: e, queued: e.queued, version: e.version, body: body}
		e.queued = nil
	}
	return tools, changes, s.hash, nil
}

// on returns the new row of the tool. If another process has changed or removed the row in the
// meantime, that change counts.
func (c *change) on(r state.TypeRow, hash hasher) ([]byte, error) {
	c.merged = nil
	if r.Version == c.version {
		return c.body, nil
	}
	c.merged = &learnedTool{}
	if r.Version != 0 && json.Unmarshal(r.Body, c.merged) != nil {
		c.merged = &learnedTool{}
	}
	for _, q := range c.queued {
		c.merged.merge(hash, q)
	}
	return json.Marshal(c.merged)
}
