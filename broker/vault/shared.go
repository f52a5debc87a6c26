package vault

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxNotes is how many documents a principal has before they become one.
	maxNotes = 64
	// sharedTime is how long an answer waits for them, and sharedPause how long they are
	// left alone after they did not answer.
	sharedTime  = 2 * time.Second
	sharedPause = time.Second
	// sweepEvery is how often those that are too old are removed.
	sweepEvery = time.Hour
)

// A fleet stores tokens that several brokers share in documents. Each document has the
// entries of one text, one a line, and is never changed; its name begins with the
// principal.
type fleet struct {
	docs               state.Documents // nil without any
	had                map[string]bool // the names of those that were read
	pausedUntil, swept time.Time
}

// NewShared returns the vault that is kept in docs, which are sealed. The key is
// that of the tokens, of 32 bytes.
func NewShared(docs state.Documents, key []byte, log *slog.Logger) *Vault {
	v := New("", func() ([]byte, error) { return key, nil }, log)
	v.docs, v.had, v.swept = docs, make(map[string]bool), time.Now()
	return v
}

// prefix is how the names of a principal's documents begin.
func prefix(principal string) string {
	sum := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(sum[:16]) + "."
}

func name(principal string) string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	return prefix(principal) + hex.EncodeToString(random[:])
}

// shortly does f in time, or not at all for a while after that has failed.
func (v *Vault) shortly(f func(ctx context.Context) error) error {
	if time.Now().Before(v.pausedUntil) {
		return errors.New("the database has not answered a moment ago")
	}
	ctx, cancel := context.WithTimeout(context.Background(), sharedTime)
	defer cancel()
	err := f(ctx)
	if err != nil {
		v.pausedUntil = time.Now().Add(sharedPause)
	}
	return err
}

// catchUp reads the documents of a principal that are new; v.mu is held.
func (v *Vault) catchUp(principal string) error {
	return v.shortly(func(ctx context.Context) error {
		list, err := v.docs.ListDocuments(ctx, prefix(principal))
		if err != nil {
			return err
		}
		known := 0
		for _, d := range list {
			if ok, read := v.had[d.Name]; read {
				if ok {
					known++
				}
				continue
			}
			text, err := v.docs.Document(ctx, d.Name)
			if errors.Is(err, state.ErrNotFound) {
				continue // it is in another one now, for the next time
			}
			if v.had[d.Name] = err == nil; errors.Is(err, state.ErrSealed) {
				v.log.Warn("read tokens", "err", err)
				continue
			}
			if err != nil {
				delete(v.had, d.Name)
				return err
			}
			for line := range bytes.Lines(text) {
				e := &entry{}
				if json.Unmarshal(line, e) == nil && e.ok() && e.Principal == principal {
					v.take(e)
				}
			}
		}
		if known > maxNotes {
			err = v.merge(ctx, principal, list)
		}
		if err == nil && time.Since(v.swept) > sweepEvery {
			err = v.sweep(ctx)
		}
		return err
	})
}

func lines(entries []*entry) []byte {
	var b bytes.Buffer
	for _, e := range entries {
		line, _ := json.Marshal(e) // texts and a time
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// tell keeps the entries of one text; v.mu is held.
func (v *Vault) tell(entries []*entry) error {
	at := name(entries[0].Principal)
	return v.shortly(func(ctx context.Context) error {
		err := v.docs.SetDocument(ctx, at, lines(entries))
		if err == nil {
			v.had[at] = true
		}
		return err
	})
}

// merge makes one document of those that were read; v.mu is held.
func (v *Vault) merge(ctx context.Context, principal string, list []state.DocumentInfo) error {
	unlock, err := v.docs.LockDocument(ctx, prefix(principal)+"merge")
	if err != nil {
		return err
	}
	defer unlock()
	if now, err := v.docs.ListDocuments(ctx, prefix(principal)); err != nil || len(now) <= maxNotes {
		return err // somebody was faster
	}
	var live []*entry
	for _, e := range v.entries {
		if e.Principal == principal && v.byToken[e.Principal+"\x00"+e.Token] == e && time.Until(e.Until) > 0 {
			live = append(live, e)
		}
	}
	at := name(principal)
	if err := v.docs.SetDocument(ctx, at, lines(live)); err != nil {
		return err
	}
	v.had[at] = true
	for _, d := range list {
		if !v.had[d.Name] {
			continue // what is in it is not known here
		}
		if err := v.docs.SetDocument(ctx, d.Name, nil); err != nil {
			return err
		}
		delete(v.had, d.Name)
	}
	return nil
}

// sweep removes the documents in which all is too old; v.mu is held.
func (v *Vault) sweep(ctx context.Context) error {
	v.swept = time.Now()
	list, err := v.docs.ListDocuments(ctx, "")
	there := make(map[string]bool)
	for _, d := range list {
		there[d.Name] = true
		if time.Since(d.Changed) <= age {
			continue
		}
		if err := v.docs.SetDocument(ctx, d.Name, nil); err != nil {
			return err
		}
	}
	for name := range v.had {
		if !there[name] {
			delete(v.had, name)
		}
	}
	return err
}
