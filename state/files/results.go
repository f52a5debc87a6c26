// Package files keeps what is too big for an answer, what scripts want to
// find again, and nothing for ever: results and printed text under random
// references, values under keys of the script's own choice. Both belong to one
// client, and no client sees another's.
//
// Everything is a file of its own, written elsewhere and renamed, so that any
// number of processes can share the directory without a lock.
package files

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options bounds a Store. Zero means the default.
type Options struct {
	// MaxBytes is what all results of one client may take; its oldest go first,
	// and one that is larger is refused.
	// Default 512 MiB.
	MaxBytes int64
	// MaxAge is how long a result is kept; default 7 days.
	MaxAge time.Duration
	// MaxValueBytes is the longest value under a key; default 1 MiB.
	MaxValueBytes int
	// MaxKeys is how many keys one client may have; default 1,000.
	MaxKeys int
	// MaxValuesBytes is what all values of one client may take; default 64 MiB.
	MaxValuesBytes int64
	// MaxValueAge is how long a value is kept after it was last set; default
	// 90 days.
	MaxValueAge time.Duration
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 512<<20)
	o.MaxAge = cmp.Or(o.MaxAge, 7*24*time.Hour)
	o.MaxValueBytes = cmp.Or(o.MaxValueBytes, 1<<20)
	o.MaxKeys = cmp.Or(o.MaxKeys, 1000)
	o.MaxValuesBytes = cmp.Or(o.MaxValuesBytes, 64<<20)
	o.MaxValueAge = cmp.Or(o.MaxValueAge, 90*24*time.Hour)
	return o
}

// A Store is the kept results of one state directory. It is safe for
// concurrent use, by several processes too. Its directory is made by the first
// thing that is kept.
type Store struct {
	dir string
	o   Options

	mu    sync.Mutex
	since int64 // bytes written since the last sweep
	swept bool
	keys  map[string]map[string]string // of values, by folder and name of file; a name never has another key
}

// Open returns the store in dir. It reads and makes nothing yet.
func Open(dir string, o *Options) *Store {
	if o == nil {
		o = &Options{}
	}
	return &Store{dir: dir, o: o.withDefaults()}
}

// Local is the name of the client that is the user of the state directory.
const Local = ""

// A Client is one client's part of a Store.
type Client struct {
	s    *Store
	name string
	dir  string
}

// Client returns the part of the client called name: that of the token it
// identified itself with, or Local.
func (s *Store) Client(name string) *Client {
	folder := "local"
	if name != Local {
		sum := sha256.Sum256([]byte(name))
		folder = "token-" + hex.EncodeToString(sum[:12])
	}
	return &Client{s: s, name: name, dir: filepath.Join(s.dir, folder)}
}

// An Item is one kept result.
type Item struct {
	Ref     string    `json:"ref"`
	Client  string    `json:"client,omitempty"`
	MIME    string    `json:"mime"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
}

// header is the first line of a result's file.
type header struct {
	MIME string `json:"mime"`
}

// MIME types of what executions keep.
const (
	JSON = "application/json"
	Text = "text/plain; charset=utf-8"
)

var (
	// ErrNotFound says that there is nothing under a reference or a key, or
	// not any more, or that it is another client's.
	ErrNotFound = errors.New("not found")

	refPattern = regexp.MustCompile(`^r_[a-z2-7]{26}$`)
	refCoding  = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// newRef makes a reference of 128 random bits: whoever has one was given it.
func newRef() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return "r_" + strings.ToLower(refCoding.EncodeToString(b[:]))
}

// Put keeps data and returns its reference.
func (c *Client) Put(mime string, data []byte) (string, error) {
	w, err := c.Create(mime)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(data); err != nil {
		w.Discard()
		return "", err
	}
	return w.Commit()
}

// A Writer keeps what is written to it. It is not safe for concurrent use, and
// ends with Commit or Discard.
type Writer struct {
	c     *Client
	f     *os.File
	ref   string
	bytes int64
	size  int64 // of the file, with its header
}

// Create begins a result whose size is not known yet.
func (c *Client) Create(mime string) (*Writer, error) {
	if err := c.make("results"); err != nil {
		return nil, fmt.Errorf("keep result: %w", err)
	}
	f, err := os.CreateTemp(filepath.Join(c.dir, "results"), "new-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("keep result: %w", err)
	}
	head, err := json.Marshal(header{mime})
	w := &Writer{c: c, f: f, ref: newRef(), size: int64(len(head)) + 1}
	if err == nil {
		_, err = f.Write(append(head, '\n'))
	}
	if err != nil {
		w.Discard()
		return nil, fmt.Errorf("keep result: %w", err)
	}
	return w, nil
}

// Ref is the reference that Commit will return.
func (w *Writer) Ref() string { return w.ref }

// Write appends p.
func (w *Writer) Write(p []byte) (int, error) {
	if w.size+int64(len(p)) > w.c.s.o.MaxBytes {
		return 0, fmt.Errorf("keep result: it is longer than the %d bytes that a client may keep", w.c.s.o.MaxBytes)
	}
	n, err := w.f.Write(p)
	w.size += int64(n)
	w.bytes += int64(n)
	return n, err
}

// Commit makes the result readable.
func (w *Writer) Commit() (string, error) {
	err := w.f.Close()
	if err == nil {
		err = os.Rename(w.f.Name(), filepath.Join(w.c.dir, "results", w.ref))
	}
	if err != nil {
		os.Remove(w.f.Name())
		return "", fmt.Errorf("keep result: %w", err)
	}
	w.c.s.sweepAfter(w.bytes)
	return w.ref, nil
}

// Discard forgets what was written.
func (w *Writer) Discard() {
	w.f.Close()
	os.Remove(w.f.Name())
}

// make makes a folder of the client, with its name beside it for List.
func (c *Client) make(folder string) error {
	path := filepath.Join(c.dir, folder)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if c.name == Local {
		return nil
	}
	return os.WriteFile(filepath.Join(c.dir, "client"), []byte(c.name), 0o600)
}

// Get returns a result and what it is. Something else than a reference, or one
// of another client, is ErrNotFound.
func (c *Client) Get(ref string) (Item, []byte, error) {
	item, r, done, err := c.read(ref)
	if err != nil {
		return Item{}, nil, err
	}
	defer done()
	data, err := readAll(r, item.Bytes)
	if err != nil {
		return Item{}, nil, fmt.Errorf("read result %s: %w", ref, err)
	}
	return item, data, nil
}

func readAll(r io.Reader, size int64) ([]byte, error) {
	data := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := data.ReadFrom(r)
	return data.Bytes(), err
}

// read opens a result until done is called.
func (c *Client) read(ref string) (item Item, r io.Reader, done func() error, err error) {
	if !refPattern.MatchString(ref) {
		return Item{}, nil, nil, ErrNotFound
	}
	f, err := os.Open(filepath.Join(c.dir, "results", ref))
	if errors.Is(err, fs.ErrNotExist) {
		return Item{}, nil, nil, ErrNotFound
	}
	if err == nil {
		if item, r, err = c.open(f, ref); err == nil && c.s.o.MaxAge < time.Since(item.Created) {
			err = ErrNotFound
		}
	}
	switch {
	case err == nil:
		return item, r, f.Close, nil
	case f != nil:
		f.Close()
	}
	if err != ErrNotFound {
		err = fmt.Errorf("read result %s: %w", ref, err)
	}
	return Item{}, nil, nil, err
}

// open reads the header of a file.
func (c *Client) open(f *os.File, ref string) (Item, io.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return Item{}, nil, err
	}
	r := bufio.NewReader(f)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return Item{}, nil, err
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return Item{}, nil, err
	}
	return Item{Ref: ref, Client: c.name, MIME: h.MIME, Bytes: info.Size() - int64(len(line)), Created: info.ModTime()}, r, nil
}

// List returns the client's results, the newest first.
func (c *Client) List() ([]Item, error) {
	entries, err := os.ReadDir(filepath.Join(c.dir, "results"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list results: %w", err)
	}
	items := []Item{}
	for _, e := range entries {
		if !refPattern.MatchString(e.Name()) {
			continue
		}
		f, err := os.Open(filepath.Join(c.dir, "results", e.Name()))
		if err != nil {
			continue // it was just removed
		}
		if item, _, err := c.open(f, e.Name()); err == nil && time.Since(item.Created) <= c.s.o.MaxAge {
			items = append(items, item)
		}
		f.Close()
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Ref, b.Ref)) })
	return items, nil
}

// Remove forgets a result.
func (c *Client) Remove(ref string) error {
	if !refPattern.MatchString(ref) {
		return ErrNotFound
	}
	err := os.Remove(filepath.Join(c.dir, "results", ref))
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

// Clients returns every client that has something kept.
func (s *Store) Clients() ([]*Client, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	var all []*Client
	for _, e := range entries {
		if e.Name() == "local" {
			all = append(all, s.Client(Local))
			continue
		}
		name, err := os.ReadFile(filepath.Join(s.dir, e.Name(), "client"))
		if err != nil {
			continue
		}
		if c := s.Client(string(name)); filepath.Base(c.dir) == e.Name() {
			all = append(all, c)
		}
	}
	return all, nil
}

// Name is the client's name.
func (c *Client) Name() string { return c.name }
