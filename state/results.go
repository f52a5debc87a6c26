package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Results stores data that is too large for an answer, by client, under unpredictable
// references. It is safe for concurrent use, also by several processes.
//
// No client can read a result of another, by its reference or in a list. A result older
// than Limits.MaxAge is gone at once, even if parts of it are still stored.
type Results interface {
	// Create begins a result of unknown size. It cannot be read before Commit.
	Create(ctx context.Context, client, mime string) (ResultWriter, error)
	// Open returns a result and its bytes, which the caller closes. Anything but
	// a reference of this client is ErrNotFound.
	Open(ctx context.Context, client, ref string) (Result, io.ReadCloser, error)
	// List returns the results of a client, the newest first.
	List(ctx context.Context, client string) ([]Result, error)
	// Remove forgets a result.
	Remove(ctx context.Context, client, ref string) error
	// Clients returns the clients that have a result or a value.
	Clients(ctx context.Context) ([]string, error)
}

// A ResultWriter keeps what is written to it. It is not safe for concurrent
// use, and ends with Commit or Discard. Writing more than a client may keep is a
// *LimitError.
type ResultWriter interface {
	io.Writer
	// Commit makes the result readable and returns its reference.
	Commit() (ref string, err error)
	// Discard forgets what was written.
	Discard()
}

// A Result is what is known of a kept result.
type Result struct {
	Ref     string    `json:"ref"`
	Client  string    `json:"client,omitempty"`
	MIME    string    `json:"mime"`
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
}

// MIME types of what executions keep.
const (
	JSON = "application/json"
	Text = "text/plain; charset=utf-8"
)

// Values keeps JSON values under keys of a script's own choice, by client. It is
// safe for concurrent use, by several processes too: of two that set one key,
// the last wins, and no reader sees half a value. What was not set for
// Limits.MaxValueAge is gone.
type Values interface {
	// Value returns what is kept under key; ErrNotFound if there is nothing.
	Value(ctx context.Context, client, key string) (json.RawMessage, error)
	// SetValue keeps a value until it is set again, deleted, or too old. Reaching
	// a limit is a *LimitError and changes nothing.
	SetValue(ctx context.Context, client, key string, v json.RawMessage) error
	// DeleteValue forgets a value and reports whether there was one.
	DeleteValue(ctx context.Context, client, key string) (bool, error)
	// Keys returns the keys that have a value, in order.
	Keys(ctx context.Context, client string) ([]string, error)
}

// OriginsSuffix ends the names of clients under which the origins of a client's values
// and results are stored. These do not count as values.
const OriginsSuffix = "\x00origins"

// profileMark separates a client and its profile; neither name contains it.
const profileMark = "\x1fprofile "

// ForProfile returns the name that owns the data of a client with a profile. With
// another profile the client may see other tools, so it must not see this data. Without
// a profile, the name is the client.
func ForProfile(client, profile string) string {
	if profile == "" {
		return client
	}
	return client + profileMark + profile
}

// ForNarrowed is ForProfile for a client with further, unnamed profiles, as in
// Run.Narrowed.
func ForNarrowed(client, profile string, narrowed json.RawMessage) string {
	if len(narrowed) == 0 {
		return ForProfile(client, profile)
	}
	sum := sha256.Sum256(narrowed)
	return ForProfile(client, strings.TrimPrefix(fmt.Sprintf("%s+project-%x", profile, sum[:8]), "+"))
}

// OfProfile returns the client and the profile of a name from ForProfile.
func OfProfile(name string) (client, profile string) {
	client, profile, _ = strings.Cut(name, profileMark)
	return client, profile
}

// Limits bound what one client keeps. Zero means the default.
type Limits struct {
	// MaxBytes is what all results of one client may take; its oldest go first,
	// and one that is larger is refused. Default 512 MiB.
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

// MaxKeyChars is the longest key of a value.
const MaxKeyChars = 256

// WithDefaults returns l with the defaults in place of zeros.
func (l Limits) WithDefaults() Limits {
	l.MaxBytes = cmp.Or(l.MaxBytes, 512<<20)
	l.MaxAge = cmp.Or(l.MaxAge, 7*24*time.Hour)
	l.MaxValueBytes = cmp.Or(l.MaxValueBytes, 1<<20)
	l.MaxKeys = cmp.Or(l.MaxKeys, 1000)
	l.MaxValuesBytes = cmp.Or(l.MaxValuesBytes, 64<<20)
	l.MaxValueAge = cmp.Or(l.MaxValueAge, 90*24*time.Hour)
	return l
}

// CheckValue is a *LimitError if a client that has n other keys, with values of
// total bytes, may not keep v under key.
func (l Limits) CheckValue(key string, v json.RawMessage, n int, total int64) error {
	limit := func(format string, args ...any) error { return &LimitError{Text: fmt.Sprintf(format, args...)} }
	chars := utf8.RuneCountInString(key)
	total += int64(len(v))
	switch {
	case key == "":
		return limit("the key is empty")
	case chars > MaxKeyChars:
		return limit("the key has %d characters; at most %d, which is fixed", chars, MaxKeyChars)
	case len(v) > l.MaxValueBytes:
		return limit("the value of %q has %d bytes; at most %d bytes, which is fixed: keep less, or under several keys", key, len(v), l.MaxValueBytes)
	case n >= l.MaxKeys:
		return limit("there are %d keys; at most %d, which is fixed: store.delete those that are not needed", n, l.MaxKeys)
	case total > l.MaxValuesBytes:
		return limit("all values together would have %d bytes; at most %d bytes, which is fixed: store.delete those that are not needed", total, l.MaxValuesBytes)
	}
	return nil
}
