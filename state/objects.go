package state

import "context"

// Objects keeps bytes under names, for results that are too long for a database. It
// is safe for concurrent use. Each method ends in bounded time.
type Objects interface {
	// Put keeps an object.
	Put(ctx context.Context, name string, body []byte) error
	// Get returns an object; one that is not there is ErrNotFound.
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete deletes an object. It is not an error if the object does not exist.
	Delete(ctx context.Context, name string) error
}

// SealObjects returns objects that in keeps encrypted, as Seal does documents.
func SealObjects(in Objects, keys ...[]byte) (*SealedObjects, error) {
	s, err := Seal(nil, keys...)
	if err != nil {
		return nil, err
	}
	return &SealedObjects{in, s}, nil
}

// SealedObjects are Objects that are encrypted where they are kept.
type SealedObjects struct {
	Objects
	s *Sealed
}

// Put implements Objects.
func (o *SealedObjects) Put(ctx context.Context, name string, body []byte) error {
	return o.Objects.Put(ctx, name, o.s.Seal(name, body))
}

// Get implements Objects.
func (o *SealedObjects) Get(ctx context.Context, name string) ([]byte, error) {
	body, err := o.Objects.Get(ctx, name)
	if err == nil {
		body, _, err = o.s.Open(name, body)
	}
	return body, err
}

// Rekey seals an object with the first key, and reports whether another key had
// sealed it. One that no key opens is ErrSealed. Its name must not be deleted
// meanwhile, or the object is there again.
func (o *SealedObjects) Rekey(ctx context.Context, name string) (sealed bool, err error) {
	old, err := o.Objects.Get(ctx, name)
	if err != nil {
		return false, err
	}
	body, key, err := o.s.Open(name, old)
	if err != nil || key == 0 {
		return false, err
	}
	return true, o.Put(ctx, name, body)
}
