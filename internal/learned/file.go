package learned

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

const fileName = "learned.db"

// load reads the file, if there is one, once.
func (s *Store) load() error {
	if s.loaded.Load() {
		return nil
	}
	s.file.Lock()
	defer s.file.Unlock()
	return s.loadFile()
}

// loadFile is load for one who holds file.
func (s *Store) loadFile() error {
	if s.loaded.Load() {
		return nil
	}
	defer s.loaded.Store(true)
	s.mu.Lock()
	if s.hash == nil {
		s.hash = newHasher()
	}
	s.mu.Unlock()
	if _, err := os.Stat(s.path); err != nil {
		return nil // nothing was learned yet
	}
	if err := s.open(); err != nil {
		return s.failed(err)
	}
	rows, err := s.db.QueryContext(context.Background(), "SELECT server, tool, rev, body FROM learned")
	if err != nil {
		return s.failed(err)
	}
	defer rows.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for rows.Next() {
		var k toolKey
		var e entry
		var body []byte
		if err := rows.Scan(&k.server, &k.tool, &e.rev, &body); err != nil {
			return s.failed(err)
		}
		if json.Unmarshal(body, &e.learnedTool) == nil {
			s.tools[k] = &e
		}
	}
	return rows.Err()
}

func (s *Store) failed(err error) error { return fmt.Errorf("learned types %s: %w", s.path, err) }

func newHasher() hasher {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return key
}

// open opens the file and makes what is missing in it. The caller holds file.
func (s *Store) open() error {
	if s.db != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: q.Encode()}).String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := s.prepare(db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	return nil
}

const schemaSQL = `
CREATE TABLE IF NOT EXISTS key (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS learned (
	server TEXT NOT NULL, tool TEXT NOT NULL,
	rev INTEGER NOT NULL, updated INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (server, tool)) WITHOUT ROWID;`

// prepare makes the tables and agrees with other processes on the key of the
// hashes. It writes only what is missing: a reader waits for no writer.
func (s *Store) prepare(db *sql.DB) error {
	ctx := context.Background()
	var key []byte
	err := db.QueryRowContext(ctx, "SELECT secret FROM key").Scan(&key)
	if err != nil {
		s.mu.Lock()
		mine := []byte(s.hash)
		s.mu.Unlock()
		if _, err := db.ExecContext(ctx, schemaSQL); err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, "INSERT OR IGNORE INTO key (id, secret) VALUES (1, ?)", mine); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, "SELECT secret FROM key").Scan(&key); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(key, s.hash) {
		// What was merged under another key cannot be compared with it.
		s.hash = key
		for _, e := range s.tools {
			e.rev = -1
		}
	}
	return nil
}

// FlushSoon has what was learned written in the background.
func (s *Store) FlushSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.soon || s.closed || !s.dirty() {
		return
	}
	s.soon = true
	s.background.Go(func() {
		err := s.Flush()
		s.mu.Lock()
		s.soon = false
		s.mu.Unlock()
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

// A change is what was learned of one tool since it was last written.
type change struct {
	k      toolKey
	e      *entry
	queued []queued
	rev    int64
	body   []byte
	there  *learnedTool // what another process had written, with queued; nil: it had not
}

// Flush writes what was learned since the last one. Learning goes on meanwhile.
func (s *Store) Flush() error {
	s.file.Lock()
	defer s.file.Unlock()
	s.mu.Lock()
	dirty := s.dirty()
	s.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := s.open(); err != nil {
		return s.failed(err)
	}
	changes, hash, err := s.changes()
	if err == nil {
		err = s.write(changes, hash)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		switch {
		case err != nil:
			c.e.queued = append(c.queued, c.e.queued...)
		case c.there != nil:
			for _, q := range c.e.queued {
				c.there.merge(s.hash, q)
			}
			c.e.learnedTool, c.e.schema = *c.there, nil
			fallthrough
		default:
			c.e.rev = c.rev
		}
	}
	if err != nil {
		return s.failed(err)
	}
	return nil
}

// changes takes what is queued, with the types that it has led to.
func (s *Store) changes() ([]*change, hasher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*change
	for k, e := range s.tools {
		if len(e.queued) == 0 {
			continue
		}
		body, err := json.Marshal(&e.learnedTool)
		if err != nil {
			return list, nil, err
		}
		list = append(list, &change{k: k, e: e, queued: e.queued, rev: e.rev, body: body})
		e.queued = nil
	}
	return list, s.hash, nil
}

func (s *Store) write(changes []*change, hash hasher) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed or an error is returned
	for _, c := range changes {
		if err := c.write(tx, hash); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// write puts a change into the row of its tool. If another process wrote the
// row meanwhile, or removed it, that is what counts.
func (c *change) write(tx *sql.Tx, hash hasher) error {
	var rev int64
	var body []byte
	err := tx.QueryRow("SELECT rev, body FROM learned WHERE server = ? AND tool = ?", c.k.server, c.k.tool).Scan(&rev, &body)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if rev != c.rev {
		c.there = &learnedTool{}
		if rev != 0 && json.Unmarshal(body, c.there) != nil {
			c.there = &learnedTool{}
		}
		for _, q := range c.queued {
			c.there.merge(hash, q)
		}
		if c.body, err = json.Marshal(c.there); err != nil {
			return err
		}
	}
	c.rev = rev + 1
	_, err = tx.Exec("INSERT OR REPLACE INTO learned (server, tool, rev, updated, body) VALUES (?, ?, ?, ?, ?)",
		c.k.server, c.k.tool, c.rev, time.Now().UnixMilli(), c.body)
	return err
}
