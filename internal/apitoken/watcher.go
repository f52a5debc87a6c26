package apitoken

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// watchEvery is the interval at which a Watcher checks whether tokens have changed, here or at
// another broker.
const watchEvery = 500 * time.Millisecond

// A Watcher knows the tokens, with a delay of at most a second. It is safe for concurrent use, and
// must be closed.
type Watcher struct {
	docs state.Documents
	log  *slog.Logger

	mu      sync.Mutex
	version string
	byHash  map[string]Token
	names   map[string]bool
	used    map[string]string // the days of the last uses
	unsaved map[string]string // the part of used that is not stored yet
	hadAny  bool              // there was a token at some time

	cancel context.CancelFunc
	done   chan struct{}
}

// Watch reads the tokens and watches them. A nil logger discards.
func Watch(ctx context.Context, docs state.Documents, log *slog.Logger) (*Watcher, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{docs: docs, log: log, unsaved: make(map[string]string), done: make(chan struct{})}
	if err := w.refresh(ctx); err != nil {
		return nil, err
	}
	if err := read(ctx, docs, usedDoc, &w.used); err != nil {
		return nil, err
	}
	if w.used == nil {
		w.used = make(map[string]string)
	}
	ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go w.run(ctx)
	return w, nil
}

func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.refresh(ctx); err != nil { // the earlier tokens remain valid
			w.log.Warn("watch tokens", "err", err)
		}
		w.storeUsed(ctx)
	}
}

// Close stops watching.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	return nil
}

// refresh reads the tokens if they have changed.
func (w *Watcher) refresh(ctx context.Context) error {
	version := w.docs.DocumentVersion(ctx, tokensDoc)
	w.mu.Lock()
	same := version == w.version && w.byHash != nil
	w.mu.Unlock()
	if same {
		return nil
	}
	var list []Token
	if err := read(ctx, w.docs, tokensDoc, &list); err != nil {
		return err
	}
	byHash, names := make(map[string]Token, len(list)), make(map[string]bool, len(list))
	for _, t := range list {
		byHash[t.Hash], names[t.Name] = t, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version, w.byHash, w.names = version, byHash, names
	w.hadAny = w.hadAny || len(list) > 0
	return nil
}

// Find returns the token with a secret, even if it has expired.
func (w *Watcher) Find(secret string) (t Token, ok bool) {
	sum := hash(secret) // the time of the lookup reveals nothing about such a long secret
	today := time.Now().UTC().Format(time.DateOnly)
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok = w.byHash[sum]
	if ok && w.used[t.Name] != today {
		w.used[t.Name], w.unsaved[t.Name] = today, today
	}
	return t, ok
}

// Has reports whether a token has that name.
func (w *Watcher) Has(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names[name]
}

// Any reports whether there is a token, or was one since Watch.
func (w *Watcher) Any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hadAny
}

// storeUsed stores which tokens were used for the first time on this day.
func (w *Watcher) storeUsed(ctx context.Context) {
	w.mu.Lock()
	unsaved := maps.Clone(w.unsaved)
	w.mu.Unlock()
	if len(unsaved) == 0 {
		return
	}
	err := change(ctx, w.docs, usedDoc, func(used *map[string]string) error {
		if *used == nil {
			*used = make(map[string]string)
		}
		for name, day := range unsaved {
			(*used)[name] = max((*used)[name], day)
		}
		return nil
	})
	if err != nil {
		w.log.Warn("keep when tokens were used", "err", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.unsaved, func(name, day string) bool { return unsaved[name] == day })
}
