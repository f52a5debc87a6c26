package state

import "context"

// A Replica is one of the brokers that share their state.
type Replica struct {
	// Name is what the ids of all begin with that it keeps in its memory alone.
	Name string
	// Address is where it takes requests that others pass on, as "host:port".
	Address string
	// Certificate is the one by which it is known there, and as a client, as DER.
	Certificate []byte
}

// Replicas know who shares the state. They are safe for concurrent use.
type Replicas interface {
	// Join makes r known to the others until leave is called, or the process is gone.
	// Of two with one name, the later one is known.
	Join(ctx context.Context, r Replica) (leave func(), err error)
	// Living returns those that have joined and are alive.
	Living(ctx context.Context) ([]Replica, error)
}
