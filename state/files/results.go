// Package files keeps results, values, sessions and tokens in files of one
// machine. Any number of processes can share a directory: what is replaced is
// written elsewhere and renamed, and where several write, they lock.
package files

import (
	"bufio"
	"cmp"
	"context"
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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Store keeps results and values below a directory, a file each, in a folder
// for each client. It implements state.Results and state.Values. The directory
// is made by the first thing that is kept; there is nothing to close.
type Store struct {
	dir    string
	limits state.Limits

	mu    sync.Mutex
	since int64 // bytes written since the last sweep
	swept bool
	keys  map[string]map[string]string // of values, by folder and name of file; a name never has another key
}

var (
	_ state.Results = (*Store)(nil)
	_ state.Values  = (*Store)(nil)
)

// Open returns the store in dir. It reads and makes nothing yet. Nil limits are
// the defaults.
func Open(dir string, limits *state.Limits) *Store {
	if limits == nil {
		limits = &state.Limits{}
	}
	return &Store{dir: dir, limits: limits.WithDefaults()}
}

// The folders of a client.
const (
	resultsFolder = "results"
	valuesFolder  = "values"
)

// folder is where the results or values of a client are.
func (s *Store) folder(client, folder string) string {
	return filepath.Join(s.dir, nameOf(client), folder)
}

// nameOf is the name of a client's folder.
func nameOf(client string) string {
	if client == state.Local {
		return "local"
	}
	sum := sha256.Sum256([]byte(client))
	return "token-" + hex.EncodeToString(sum[:12])
}

// make makes a folder of a client, with the client's name beside it.
func (s *Store) make(client, folder string) (path string, err error) {
	path = s.folder(client, folder)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	if client == state.Local {
		return path, nil
	}
	return path, os.WriteFile(filepath.Join(s.dir, nameOf(client), "client"), []byte(client), 0o600)
}

// Clients implements state.Results.
func (s *Store) Clients(context.Context) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list clients: %w", err)
	}
	var all []string
	for _, e := range entries {
		if e.Name() == nameOf(state.Local) {
			all = append(all, state.Local)
			continue
		}
		name, err := os.ReadFile(filepath.Join(s.dir, e.Name(), "client"))
		if err == nil && nameOf(string(name)) == e.Name() {
			all = append(all, string(name))
		}
	}
	return all, nil
}

// header is the first line of a result's file.
type header struct {
	MIME string `json:"mime"`
}

var (
	refPattern = lazyregexp.New(`^r_[a-z2-7]{26}$`)
	refCoding  = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// newRef makes a reference of 128 random bits.
func newRef() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return "r_" + strings.ToLower(refCoding.EncodeToString(b[:]))
}

// A resultWriter is a state.ResultWriter.
type resultWriter struct {
	s     *Store
	f     *atomicfile.File
	ref   string
	bytes int64
	size  int64 // of the file, with its header
}

// Create implements state.Results.
func (s *Store) Create(_ context.Context, client, mime string) (state.ResultWriter, error) {
	dir, err := s.make(client, resultsFolder)
	if err != nil {
		return nil, fmt.Errorf("keep result: %w", err)
	}
	ref := newRef()
	f, err := atomicfile.Create(filepath.Join(dir, ref))
	if err != nil {
		return nil, fmt.Errorf("keep result: %w", err)
	}
	head, err := json.Marshal(header{mime})
	w := &resultWriter{s: s, f: f, ref: ref, size: int64(len(head)) + 1}
	if err == nil {
		_, err = f.Write(append(head, '\n'))
	}
	if err != nil {
		w.Discard()
		return nil, fmt.Errorf("keep result: %w", err)
	}
	return w, nil
}

// Write appends p.
func (w *resultWriter) Write(p []byte) (int, error) {
	if most := w.s.limits.MaxBytes; w.size+int64(len(p)) > most {
		return 0, &state.LimitError{Text: fmt.Sprintf("keep result: it is longer than the %d bytes that a client may keep", most)}
	}
	n, err := w.f.Write(p)
	w.size += int64(n)
	w.bytes += int64(n)
	return n, err
}

// Commit makes the result readable.
func (w *resultWriter) Commit() (string, error) {
	if err := w.f.Commit(); err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	w.s.sweepAfter(w.bytes)
	return w.ref, nil
}

// Discard forgets what was written.
func (w *resultWriter) Discard() { w.f.Discard() }

// A resultReader reads what follows the header of a file.
type resultReader struct {
	*bufio.Reader
	io.Closer
}

// Open implements state.Results.
func (s *Store) Open(_ context.Context, client, ref string) (state.Result, io.ReadCloser, error) {
	if !refPattern.MatchString(ref) {
		return state.Result{}, nil, state.ErrNotFound
	}
	r, data, err := s.open(client, ref)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return state.Result{}, nil, state.ErrNotFound
	case err != nil:
		return state.Result{}, nil, fmt.Errorf("read result %s: %w", ref, err)
	case time.Since(r.Created) > s.limits.MaxAge:
		data.Close()
		return state.Result{}, nil, state.ErrNotFound
	}
	return r, data, nil
}

// open opens a file and reads its header.
func (s *Store) open(client, ref string) (state.Result, io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(s.folder(client, resultsFolder), ref))
	if err != nil {
		return state.Result{}, nil, err
	}
	data := bufio.NewReader(f)
	line, err := data.ReadBytes('\n')
	var h header
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	info, statErr := f.Stat()
	if err = cmp.Or(err, statErr); err != nil {
		f.Close()
		return state.Result{}, nil, err
	}
	r := state.Result{Ref: ref, Client: client, MIME: h.MIME, Bytes: info.Size() - int64(len(line)), Created: info.ModTime()}
	return r, resultReader{data, f}, nil
}

// List implements state.Results.
func (s *Store) List(_ context.Context, client string) ([]state.Result, error) {
	entries, err := os.ReadDir(s.folder(client, resultsFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list results: %w", err)
	}
	list := []state.Result{}
	for _, e := range entries {
		if !refPattern.MatchString(e.Name()) {
			continue
		}
		r, data, err := s.open(client, e.Name())
		if err != nil {
			continue // it was just removed
		}
		data.Close()
		if time.Since(r.Created) <= s.limits.MaxAge {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b state.Result) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Ref, b.Ref)) })
	return list, nil
}

// Remove implements state.Results.
func (s *Store) Remove(_ context.Context, client, ref string) error {
	if !refPattern.MatchString(ref) {
		return state.ErrNotFound
	}
	err := os.Remove(filepath.Join(s.folder(client, resultsFolder), ref))
	if errors.Is(err, fs.ErrNotExist) {
		return state.ErrNotFound
	}
	return err
}
