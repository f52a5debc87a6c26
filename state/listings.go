package state

import "context"

// Listings stores the listings of servers for all brokers that share the state. It is
// safe for concurrent use.
type Listings interface {
	// Listings returns what is kept under keys, without those that have nothing.
	Listings(ctx context.Context, keys []string) (map[string][]byte, error)
	// SetListing keeps a listing, and publishes that on TopicListings if it is
	// another one than before.
	SetListing(ctx context.Context, key string, listing []byte) error
}
