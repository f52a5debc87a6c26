package state

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Document is one of some Documents, which is read often and changed seldom: it is
// asked for its version at most every lookEvery. While it cannot be read, it is what
// it was. It is safe for concurrent use.
type Document struct {
	docs Documents
	name string

	mu      sync.Mutex
	asked   time.Time // when its version was
	known   bool
	version string // "" if it does not exist
	body    []byte
}

const (
	// lookEvery is the time between checks whether a document has changed.
	lookEvery = 200 * time.Millisecond
	// lookTime is how long it may take to read one.
	lookTime = 5 * time.Second
	// editTime is how long it may take to change one, others who do that before included.
	editTime = 15 * time.Second
)

// OneDocument returns a document, which need not be there yet.
func OneDocument(docs Documents, name string) *Document { return &Document{docs: docs, name: name} }

// Read returns the content of the document, or nil if it does not exist.
func (d *Document) Read() ([]byte, error) {
	body, _, err := d.read()
	return body, err
}

// Version returns a text that differs after each change, or "" if the document does not
// exist.
func (d *Document) Version() string {
	_, version, _ := d.read() // Read reports the error
	return version
}

func (d *Document) read() (body []byte, version string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known && time.Since(d.asked) < lookEvery {
		return d.body, d.version, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	err = d.look(ctx)
	d.asked = time.Now()
	if d.known {
		return d.body, d.version, nil
	}
	return nil, "", err
}

// look reads the document if it has changed; d.mu is held.
func (d *Document) look(ctx context.Context) error {
	list, err := d.docs.ListDocuments(ctx, d.name)
	if err != nil {
		return err
	}
	version := ""
	for _, one := range list {
		if one.Name == d.name {
			version = one.Version
		}
	}
	if d.known && version == d.version {
		return nil
	}
	var body []byte
	if version != "" {
		if body, err = d.docs.Document(ctx, d.name); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	// One that was changed in between is read again by the next look.
	d.known, d.version, d.body = true, version, body
	return nil
}

// Edit replaces the content of the document by the result of edit. Edits are
// serialized.
func (d *Document) Edit(edit func(body []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), editTime)
	defer cancel()
	unlock, err := d.docs.LockDocument(ctx, d.name)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := d.docs.Document(ctx, d.name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	after, err := edit(before)
	if err == nil {
		err = d.docs.SetDocument(ctx, d.name, after)
	}
	d.Forget()
	return err
}

// Forget makes the next Read look, as after news of a change.
func (d *Document) Forget() {
	d.mu.Lock()
	d.asked = time.Time{}
	d.mu.Unlock()
}
