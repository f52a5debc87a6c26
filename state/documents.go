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
	// DocumentVersion returns a text that differs after each change of a document, or
	// "" if it does not exist. It is fast.
	DocumentVersion(ctx context.Context, name string) string
	// ListDocuments returns information about the documents with names that begin with
	// prefix, by name.
	ListDocuments(ctx context.Context, prefix string) ([]DocumentInfo, error)
	Locks
}

// A DocumentInfo is what is known of a document besides what it says.
type DocumentInfo struct {
	Name, Version string
	Bytes         int64 // as stored
	Changed       time.Time
}

// Locks serializes the users that read and replace a document.
type Locks interface {
	// LockDocument waits until the lock of a name is free, or ctx is done. The lock is
	// released by unlock, or at the end of the process.
	LockDocument(ctx context.Context, name string) (unlock func(), err error)
}
