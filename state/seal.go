package state

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
)

// KeyBytes is how long the key of sealed documents is.
const KeyBytes = 32

// ParseKey reads a key of 64 hexadecimal digits. Its error has nothing of the key.
func ParseKey(text string) ([]byte, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != KeyBytes {
		return nil, fmt.Errorf("a key has %d hexadecimal digits, as openssl rand -hex %d prints them", 2*KeyBytes, KeyBytes)
	}
	return key, nil
}

// NewKey makes a key of sealed documents.
func NewKey() []byte {
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // never fails
	return key
}

// Seal returns encrypted documents stored in docs: without a key they cannot be read,
// changed or renamed. The first key encrypts, and all of them decrypt; each has
// KeyBytes.
func Seal(docs Documents, keys ...[]byte) (*Sealed, error) {
	if len(keys) == 0 {
		return nil, errors.New("documents are sealed with at least one key")
	}
	s := &Sealed{Documents: docs}
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		s.aeads = append(s.aeads, aead)
	}
	return s, nil
}

// Sealed are Documents that are encrypted where they are kept.
type Sealed struct {
	Documents
	aeads []cipher.AEAD
}

// ErrSealed is the cause of the error of a document that no key opens.
var ErrSealed = errors.New("it was sealed with another key, or changed since")

// Open returns what was sealed under a name, and the number of the key that it is
// sealed with.
func (s *Sealed) Open(name string, sealed []byte) (body []byte, key int, err error) {
	for i, aead := range s.aeads {
		if body, err := aead.Open(nil, nil, sealed, []byte(name)); err == nil {
			return body, i, nil
		}
	}
	return nil, 0, fmt.Errorf("open %s: %w", name, ErrSealed)
}

// Seal returns body encrypted for storage under a name.
func (s *Sealed) Seal(name string, body []byte) []byte {
	return s.aeads[0].Seal(nil, nil, body, []byte(name))
}

// Document implements Documents.
func (s *Sealed) Document(ctx context.Context, name string) ([]byte, error) {
	body, err := s.Documents.Document(ctx, name)
	if err == nil {
		body, _, err = s.Open(name, body)
	}
	return body, err
}

// SetDocument implements Documents.
func (s *Sealed) SetDocument(ctx context.Context, name string, body []byte) error {
	if body != nil {
		body = s.Seal(name, body)
	}
	return s.Documents.SetDocument(ctx, name, body)
}

// A Swapper replaces a document if it is what it was.
type Swapper interface {
	// SwapDocument replaces the document if its content is old, and reports whether it
	// did: not if it has changed or is gone.
	SwapDocument(ctx context.Context, name string, old, body []byte) (swapped bool, err error)
}

// Rekeyed is the result of Rekey.
type Rekeyed struct {
	// Sealed are documents that are sealed with the first key now, Kept those that
	// were already.
	Sealed int `json:"sealed"`
	Kept   int `json:"kept"`
	// Unopened are the names of those that no key opens.
	Unopened []string `json:"unopened"`
}

// Rekey re-encrypts with the first key everything that other keys have encrypted, while
// any number of brokers read and write. They must have the same first key, or Rekey
// does not find the documents that they write meanwhile.
func (s *Sealed) Rekey(ctx context.Context, in Swapper) (r Rekeyed, err error) {
	list, err := s.ListDocuments(ctx, "")
	for i := 0; i < len(list) && err == nil; i++ {
		err = s.rekey(ctx, in, list[i].Name, &r)
	}
	return r, err
}

// rekey seals one document again, until it is what was read.
func (s *Sealed) rekey(ctx context.Context, in Swapper, name string, r *Rekeyed) error {
	for {
		old, err := s.Documents.Document(ctx, name)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		body, key, err := s.Open(name, old)
		switch {
		case err != nil:
			r.Unopened = append(r.Unopened, name)
			return nil
		case key == 0:
			r.Kept++
			return nil
		}
		swapped, err := in.SwapDocument(ctx, name, old, s.Seal(name, body))
		if err != nil {
			return err
		}
		if swapped {
			r.Sealed++
			return nil
		}
	}
}
