package upstream

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/cache"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// sharedTime is how long the pool waits for what brokers keep together.
const sharedTime = 3 * time.Second

// An inventory is what one server lists, as it is known here, and stored for later and
// for other brokers. Its instances have it in common. mu is never held over I/O or a
// callback.
type inventory struct {
	cfg      Config
	key      cache.Key // of cfg
	host     *common
	log      *slog.Logger
	announce func() // called when the listing is new

	taking sync.Mutex // from reading full until learn has replaced it; locked before mu

	mu       sync.Mutex
	full     discovery.Listing // as listed; valid if known
	shown    discovery.Listing // what the configuration allows of it
	known    bool
	asks     bool         // the server has asked a client something
	sharing  sharing.Kind // who shares an instance
	why      string       // and the reason
	unshared []byte       // entry that could not be shared with other brokers
}

// isKnown reports whether the server was ever listed.
func (v *inventory) isKnown() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known
}

// listing returns what the configuration allows of the listing, and whether it is known.
func (v *inventory) listing() (l discovery.Listing, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.shown, v.known
}

// whole returns the listing as the server gave it.
func (v *inventory) whole() discovery.Listing {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.full
}

// shared returns who shares an instance of the server, and why.
func (v *inventory) shared() (who sharing.Kind, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sharing, v.why
}

// hasTool reports whether the server has a tool of that name.
func (v *inventory) hasTool(name string) bool {
	return slices.ContainsFunc(v.whole().Tools, func(t discovery.ListedTool) bool { return t.Name == name })
}

// decideLocked decides who shares an instance, after something has become known
// of the server; v.mu must be held.
func (v *inventory) decideLocked() {
	v.sharing, v.why = v.cfg.sharing(v.full.Tools, v.asks)
}

// restore sets the listing that is stored, before the server is used.
func (v *inventory) restore(e cache.Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.full, v.shown, v.known, v.asks = e.Listing, v.cfg.described(e.Listing), true, e.Asks
	v.decideLocked()
}

// learn replaces the listing, and announces it if that changes anything.
func (v *inventory) learn(l discovery.Listing) {
	shown := v.cfg.described(l)
	v.mu.Lock()
	same := v.known && sameListing(v.shown, shown)
	v.full, v.shown, v.known = l, shown, true
	v.decideLocked()
	v.host.learnt.Add(1) // before anybody can see them
	v.host.changed()
	v.mu.Unlock()
	if !same {
		v.announce()
	}
}

// keep stores a listing that sess gave, and learns it. v.taking must be held.
func (v *inventory) keep(sess *session, l discovery.Listing) {
	v.store(sess, l)
	v.learn(l)
}

// store stores a listing on disk, and for other brokers.
func (v *inventory) store(sess *session, l discovery.Listing) {
	entry := v.entry(sess, l)
	if err := v.host.cache.Store(v.key, entry); err != nil {
		v.log.Warn("cannot store the listing", "err", err) // works all the same, the next start is slower
	}
	v.share(entry)
}

// entry returns what is stored of a listing that sess gave.
func (v *inventory) entry(sess *session, l discovery.Listing) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return cache.Entry{Era: sess.Era, Transport: sess.Transport, Asks: v.asks, Listing: l}.Encode()
}

// change changes the listing with f, which must leave the slices alone that are in it,
// after sess has said something new.
func (v *inventory) change(sess *session, f func(*discovery.Listing)) {
	v.taking.Lock()
	defer v.taking.Unlock()
	v.mu.Lock()
	l := v.full
	known := v.known
	v.mu.Unlock()
	before := l
	f(&l)
	if !known || sameListing(before, l) {
		return
	}
	v.keep(sess, l)
}

// asked records that the server asks its clients questions in requests that do not name
// a call: each client gets an instance from then on.
func (v *inventory) asked(sess *session) {
	v.taking.Lock()
	defer v.taking.Unlock()
	v.mu.Lock()
	news := !v.asks && v.known
	v.asks = true
	v.decideLocked()
	l := v.full
	v.mu.Unlock()
	if news {
		v.store(sess, l)
	}
}

// takeOver makes the listing of another broker that of the server. It calls before when
// that changes something, before it does.
func (v *inventory) takeOver(e cache.Entry, body []byte, before func()) {
	v.taking.Lock()
	defer v.taking.Unlock()
	v.mu.Lock()
	same := v.known && v.asks == e.Asks && sameListing(v.full, e.Listing)
	v.asks = v.asks || e.Asks
	v.mu.Unlock()
	if same {
		return
	}
	before()
	if err := v.host.cache.Store(v.key, body); err != nil {
		v.log.Warn("cannot store the listing", "err", err)
	}
	v.learn(e.Listing)
}

// share stores an entry for all brokers, or as soon as that is possible.
func (v *inventory) share(body []byte) {
	if v.host.opts.Listings == nil {
		return
	}
	ctx, cancel := context.WithTimeout(v.host.ctx, sharedTime)
	defer cancel()
	err := v.host.opts.Listings.SetListing(ctx, v.key.ID, body)
	if err != nil {
		v.log.Warn("cannot share the listing", "err", err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.unshared = nil; err != nil {
		v.unshared = body
	}
}

// shareAgain shares what could not be shared before. It reports whether there was
// something.
func (v *inventory) shareAgain(ctx context.Context) bool {
	v.taking.Lock()
	defer v.taking.Unlock()
	v.mu.Lock()
	body := v.unshared
	v.mu.Unlock()
	if body == nil || ctx.Err() != nil {
		return false
	}
	v.share(body)
	return true
}

// sameListing reports whether two listings say the same.
func sameListing(a, b discovery.Listing) bool {
	return bytes.Equal(gate.Compact(a), gate.Compact(b))
}
