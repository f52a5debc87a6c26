package upstream

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// maxInstances bounds the instances of a server besides the shared one. An unused
// instance makes room for another.
const maxInstances = 32

// An instanceServer is the server of an instance.
type instanceServer interface {
	connected() bool
	retire() // stops it in the background
}

// instances are the instances of one server besides the shared one, by key.
type instances[S instanceServer] struct {
	mu     sync.Mutex
	closed bool
	byKey  map[string]*instance[S]
}

// An instance is another server like the shared one, which lists nothing by itself.
// Its uses and when it was used last are guarded by instances.mu.
type instance[S instanceServer] struct {
	server  S
	uses    int
	used    time.Time
	version string      // of what it was given of its person
	forget  func() bool // ends the wait for the end of its conversation
}

// use returns the server of the instance with a key, and what ends its use. If there is
// none of that version, it is made with begin, which gets what ends the instance and
// returns what ends the wait for that. There are at most most of them.
func (in *instances[S]) use(key, version string, most int, begin func(end func()) (S, func() bool)) (at S, leave func(), err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	i := in.byKey[key]
	if i != nil && i.version != version { // the person has given other secrets since
		in.endLocked(key, i)
		i = nil
	}
	if i == nil {
		if in.closed {
			return at, nil, ErrClosed
		}
		if len(in.byKey) >= most && !in.evictLocked() {
			return at, nil, fmt.Errorf("%d instances of it are in use", most)
		}
		i = &instance[S]{version: version}
		i.server, i.forget = begin(func() { in.end(key, i) })
		if in.byKey == nil {
			in.byKey = make(map[string]*instance[S])
		}
		in.byKey[key] = i
	}
	i.uses++
	return i.server, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		i.uses--
		i.used = time.Now()
	}, nil
}

// endLocked ends an instance; in.mu must be held.
func (in *instances[S]) endLocked(key string, i *instance[S]) {
	delete(in.byKey, key)
	i.forget()
	i.server.retire()
}

// end ends an instance, if it is still there.
func (in *instances[S]) end(key string, i *instance[S]) {
	in.mu.Lock()
	here := in.byKey[key] == i
	if here {
		delete(in.byKey, key)
	}
	in.mu.Unlock()
	if here {
		i.server.retire()
	}
}

// endAll ends the instances with keys that begin with prefix.
func (in *instances[S]) endAll(prefix string) {
	var gone []*instance[S]
	in.mu.Lock()
	for key, i := range in.byKey {
		if strings.HasPrefix(key, prefix) {
			delete(in.byKey, key)
			gone = append(gone, i)
		}
	}
	in.mu.Unlock()
	for _, i := range gone {
		i.forget()
		i.server.retire()
	}
}

// evict ends the least recently used of the unused instances. It reports whether there
// is one.
func (in *instances[S]) evict() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.evictLocked()
}

// evictLocked is evict; in.mu must be held.
func (in *instances[S]) evictLocked() bool {
	key, i := in.oldestLocked()
	if i == nil {
		return false
	}
	in.endLocked(key, i)
	return true
}

// oldestLocked returns the least recently used of the unused instances, or nil; in.mu
// must be held.
func (in *instances[S]) oldestLocked() (key string, oldest *instance[S]) {
	for k, i := range in.byKey {
		if i.uses == 0 && (oldest == nil || i.used.Before(oldest.used)) {
			key, oldest = k, i
		}
	}
	return key, oldest
}

// holds reports whether there is an instance with a key.
func (in *instances[S]) holds(key string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.byKey[key] != nil
}

// size returns how many instances there are.
func (in *instances[S]) size() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.byKey)
}

// idleSince returns when the least recently used of the unused instances was used, or
// false if all are in use.
func (in *instances[S]) idleSince() (since time.Time, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, i := in.oldestLocked(); i != nil {
		return i.used, true
	}
	return time.Time{}, false
}

// running is how many instances are connected.
func (in *instances[S]) running() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := 0
	for _, i := range in.byKey {
		if i.server.connected() {
			n++
		}
	}
	return n
}

// close removes all instances, for good, and returns their servers.
func (in *instances[S]) close() []S {
	in.mu.Lock()
	all := in.byKey
	in.byKey, in.closed = nil, true
	in.mu.Unlock()
	var servers []S
	for _, i := range all {
		i.forget()
		servers = append(servers, i.server)
	}
	return servers
}
