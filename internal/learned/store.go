package learned

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

const fileName = "learned.db"

const (
	// inlineBytes is up to what size a result is read at once, by the call
	// that got it. Larger ones are read in the background and only now and
	// then, those above largeBytes never.
	inlineBytes = 64 << 10
	largeBytes  = 4 << 20
	// maxQueued is how many samples of one tool wait to be written.
	maxQueued = 1000
)

// A Store is the learned types of one state directory. Several processes may
// have it open: each writes what it has learned into what the others wrote. It
// is safe for concurrent use. Its file is opened by the first use, and made by
// the first Flush that has something to write.
type Store struct {
	path string
	log  *slog.Logger

	// file guards the use of the file, which may wait for another process. mu
	// guards the rest and never waits for anything. Whoever needs both takes
	// file first.
	file   sync.Mutex
	db     *sql.DB
	loaded atomic.Bool

	mu         sync.Mutex
	hash       hasher
	tools      map[toolKey]*entry
	closed     bool
	busy       bool // a large value is being read
	background sync.WaitGroup
	soon       bool // a Flush is about to run
}

type toolKey struct{ server, tool string }

// An entry is the state of one tool.
type entry struct {
	learnedTool
	rev    int64 // the row's that this was read from or written as; 0: none
	large  int   // large results seen
	queued []queued
	schema json.RawMessage // of learnedTool; nil: not made yet
}

// learnedTool is what a row holds.
type learnedTool struct {
	Calls int  `json:"calls"`
	Root  node `json:"root"`
}

type queued struct {
	args digest
	s    *sample
}

// A digest stands for the arguments of a call while this process runs; what is
// stored is its keyed hash.
type digest [sha256.Size]byte

// Open returns the store in dir. A nil logger discards.
func Open(dir string, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Store{path: filepath.Join(dir, fileName), log: log, tools: map[toolKey]*entry{}}
}

// Close writes what is not written yet and closes the file.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.background.Wait()
	err := s.Flush()
	s.file.Lock()
	defer s.file.Unlock()
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
		s.db = nil
	}
	return err
}

// Observe learns from the value that a call of a tool gave, and returns how it
// differs from all values before: nil if it does not, or if too few are known
// to say. Large values are learned from in the background and in part. The
// value must be valid JSON and must not be changed afterwards.
func (s *Store) Observe(server, tool string, args, value json.RawMessage) []string {
	if err := s.load(); err != nil {
		s.log.Warn("read learned types", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := toolKey{server, tool}
	e := s.tools[k]
	if e == nil {
		e = &entry{}
		s.tools[k] = e
	}
	a := canonical(args)
	if len(value) > inlineBytes {
		s.observeLarge(k, e, a, value)
		return nil
	}
	smp, err := take(value)
	if err != nil {
		return nil
	}
	var found []string
	if e.Calls >= minDriftCalls {
		found = drift(&e.Root, smp)
	}
	e.learn(s.hash, queued{a, smp})
	return found
}

// observeLarge reads a large value in the background: the first four, then ever
// fewer, and one at a time.
func (s *Store) observeLarge(k toolKey, e *entry, args digest, value json.RawMessage) {
	e.large++
	if s.busy || e.large > 4 && e.large&(e.large-1) != 0 || len(value) > largeBytes || s.closed {
		return
	}
	s.busy = true
	s.background.Go(func() {
		smp, err := take(value)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
		if err == nil && s.tools[k] == e {
			e.learn(s.hash, queued{args, smp})
		}
	})
}

func (e *entry) learn(h hasher, q queued) {
	e.merge(h, q)
	e.schema = nil
	if len(e.queued) < maxQueued {
		e.queued = append(e.queued, q)
	}
}

func (t *learnedTool) merge(h hasher, q queued) {
	t.Calls++
	merger{h, h.sum(q.args[:])}.merge(&t.Root, q.s)
}

// Type returns what is known of the results of a tool; false when that is too
// little to be of use.
func (s *Store) Type(server, tool string) (Type, bool) {
	if err := s.load(); err != nil {
		s.log.Warn("read learned types", "err", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.tools[toolKey{server, tool}]
	if e == nil || e.Calls < minCalls {
		return Type{}, false
	}
	return e.typ(), true
}

func (e *entry) typ() Type {
	if e.schema == nil {
		e.schema = json.RawMessage(e.Root.schema(0))
	}
	return Type{Calls: e.Calls, Schema: e.schema}
}

// A Tool is a learned type with the tool that it is of.
type Tool struct {
	Server string          `json:"server"`
	Tool   string          `json:"tool"`
	Calls  int             `json:"calls"`
	Schema json.RawMessage `json:"schema"`
}

// List returns all that is known, by server and tool.
func (s *Store) List() ([]Tool, error) {
	err := s.load()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Tool{}
	for k, e := range s.tools {
		if e.Calls > 0 {
			list = append(list, Tool{k.server, k.tool, e.Calls, e.typ().Schema})
		}
	}
	slices.SortFunc(list, func(a, b Tool) int {
		return bytes.Compare([]byte(a.Server+"\x00"+a.Tool), []byte(b.Server+"\x00"+b.Tool))
	})
	return list, err
}

// canonical is the digest of args without what does not matter in them: white
// space and order.
func canonical(args json.RawMessage) digest {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if len(args) == 0 || d.Decode(&v) != nil {
		return sha256.Sum256(args)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return sha256.Sum256(args)
	}
	return sha256.Sum256(text)
}

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
