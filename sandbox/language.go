package sandbox

import (
	"context"
	"errors"
)

// ByLanguage returns a runner that hands each program to the runner of its
// language among others, and to first if there is none. Its layers are first's.
// Close closes all of them.
func ByLanguage(first Runner, others map[Language]Runner) Runner {
	return &byLanguage{first, others}
}

type byLanguage struct {
	first  Runner
	others map[Language]Runner
}

// Run implements Runner.
func (b *byLanguage) Run(ctx context.Context, req Request) (Result, error) {
	if r, ok := b.others[req.Language]; ok {
		return r.Run(ctx, req)
	}
	return b.first.Run(ctx, req)
}

// Layers implements Layered.
func (b *byLanguage) Layers(ctx context.Context) ([]Layer, error) { return LayersOf(ctx, b.first) }

// Close implements Runner.
func (b *byLanguage) Close() error {
	err := b.first.Close()
	for _, r := range b.others {
		err = errors.Join(err, r.Close())
	}
	return err
}
