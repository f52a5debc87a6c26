package state

import (
	"context"
	"time"
)

// A Head is the end of the chain of an audit record: the number of its last link,
// and the hash that depends on all that was recorded before. A copy that is kept
// elsewhere proves later that nothing up to it has changed.
type Head struct {
	Time time.Time `json:"time"`
	N    int64     `json:"n"`
	Hash string    `json:"hash"` // SHA-256 in hexadecimal
}

// A Flaw is a row of a record that is not as it was written.
type Flaw struct {
	// N is the number of the link with the fault; Row names the row as far as it is
	// known.
	N   int64  `json:"n"`
	Row string `json:"row"`
	Why string `json:"why"`
}

// A Verification is the result of checking a record for changes.
type Verification struct {
	// Links is how many links of the chain were compared with their rows.
	Links int `json:"links"`
	// Unhashed is how many rows were written before the record had a chain. Nothing
	// is known about them.
	Unhashed int `json:"unhashed"`
	// Base is the last link that was pruned, or 0.
	Base int64 `json:"base"`
	// Head is the end of the chain.
	Head Head `json:"head"`
	// Anchors is how many heads that were kept elsewhere agree with the chain,
	// Older how many are of links that were removed since.
	Anchors int `json:"anchors"`
	Older   int `json:"older_anchors"`
	// Flaws are the first of what is wrong, in the order of the chain.
	Flaws []Flaw `json:"flaws"`
}

// OK reports whether nothing is wrong.
func (v Verification) OK() bool { return len(v.Flaws) == 0 }

// A Verifier checks the chain of a record: each row has a digest in it, and each
// link the hash of the one before. Who can write the record can write all of it
// anew; only heads kept where they cannot write show that.
type Verifier interface {
	Verify(ctx context.Context, anchors []Head) (Verification, error)
}
