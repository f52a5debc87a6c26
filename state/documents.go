package state

import (
	"context"
	"time"
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
	// ListDocuments returns what is known of the documents whose names begin with a
	// text, by name.
	ListDocuments(ctx context.Context, prefix string) ([]DocumentInfo, error)
	Locks
}

// A DocumentInfo is what is known of a document besides what it says.
type DocumentInfo struct {
	Name, Version string
	Bytes         int64 // as it is kept
	Changed       time.Time
}

// Locks lets one user at a time read a document and replace it.
type Locks interface {
	// LockDocument waits until nobody else has the lock of a name, or ctx is done.
	// The lock is given back by unlock, or with the end of the process.
	LockDocument(ctx context.Context, name string) (unlock func(), err error)
}
