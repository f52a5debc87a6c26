package state

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// The topics of a Bus, and what the name of a notice is.
const (
	TopicListings  = "listings"  // what a server lists: the key of its listing
	TopicPins      = "pins"      // what was approved of a server: the server
	TopicRuns      = "runs"      // calls of a run were decided about: its id
	TopicCancel    = "cancel"    // an execution is to end: its id, or that of its run
	TopicDocuments = "documents" // a document has changed: its kind, a slash, and its name
	// TopicLead is about which broker leads. Nobody publishes it.
	TopicLead = "lead"
)

// A Bus carries notices between the brokers that share one state. A notice is only
// a hint to look: what has changed is in the state. It is safe for concurrent use.
type Bus interface {
	// Publish notifies all brokers, including this one. It returns once the notice is
	// sent.
	Publish(ctx context.Context, topic, name string) error
	// Subscribe calls heard with the name of each notice of a topic, one after
	// another, until stop is called. An empty name means that notices may have been
	// missed, and anything may have changed; a bus may begin with that. heard must
	// not block.
	Subscribe(topic string, heard func(name string)) (stop func())
	// Leads reports whether this broker is the one of all that does what need not be
	// done twice. At times none is, or, for as long as a lost connection is not
	// noticed, two are.
	Leads() bool
}

// A LocalBus is the bus of a single broker, which leads. Its zero value is ready.
type LocalBus struct {
	mu   sync.Mutex
	subs map[string]map[*func(string)]bool
}

var _ Bus = (*LocalBus)(nil)

// Publish implements Bus.
func (b *LocalBus) Publish(_ context.Context, topic, name string) error {
	for _, heard := range b.subscribers(topic) {
		(*heard)(name)
	}
	return nil
}

func (b *LocalBus) subscribers(topic string) []*func(string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.subs[topic]))
}

// Topics are those that somebody has subscribed to.
func (b *LocalBus) Topics() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.subs))
}

// Subscribe implements Bus.
func (b *LocalBus) Subscribe(topic string, heard func(name string)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = make(map[string]map[*func(string)]bool)
	}
	if b.subs[topic] == nil {
		b.subs[topic] = make(map[*func(string)]bool)
	}
	b.subs[topic][&heard] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs[topic], &heard)
	}
}

// Leads implements Bus.
func (b *LocalBus) Leads() bool { return true }
