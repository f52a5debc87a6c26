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

// Documents keeps small texts by name, each replaced as a whole, such as the
// sign-ins to remote servers. It is safe for concurrent use, by several processes
// too.
type Documents interface {
	// Document returns what is kept under a name; ErrNotFound if there is nothing.
	Document(ctx context.Context, name string) ([]byte, error)
	// SetDocument keeps body under a name; nil forgets what was kept. It returns when
	// that is durable.
	SetDocument(ctx context.Context, name string, body []byte) error
	// DocumentVersion returns a text that is another one after each change of a
	// document, and empty if there is none. It is quick.
	DocumentVersion(ctx context.Context, name string) string
	Locks
}

// Locks lets one user at a time read a document and replace it.
type Locks interface {
	// LockDocument waits until nobody else has the lock of a name, or ctx is done.
	// The lock is given back by unlock, or with the end of the process.
	LockDocument(ctx context.Context, name string) (unlock func(), err error)
}

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

// Seal returns documents that docs keeps encrypted: without the key nobody can read
// them, change them or give one the name of another. The key has KeyBytes.
func Seal(docs Documents, key []byte) (Documents, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return sealed{docs, aead}, nil
}

type sealed struct {
	Documents
	aead cipher.AEAD
}

// errSealed is the error of a document that the key does not open.
var errSealed = errors.New("it was sealed with another key, or changed since")

func (s sealed) Document(ctx context.Context, name string) ([]byte, error) {
	body, err := s.Documents.Document(ctx, name)
	if err != nil {
		return nil, err
	}
	if body, err = s.aead.Open(nil, nil, body, []byte(name)); err != nil {
		return nil, fmt.Errorf("open %s: %w", name, errSealed)
	}
	return body, nil
}

func (s sealed) SetDocument(ctx context.Context, name string, body []byte) error {
	if body != nil {
		body = s.aead.Seal(nil, nil, body, []byte(name))
	}
	return s.Documents.SetDocument(ctx, name, body)
}

// NewKey makes a key of sealed documents.
func NewKey() []byte {
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // never fails
	return key
}
