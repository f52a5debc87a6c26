package postgres

import (
	"context"
	"crypto/sha256"

	"github.com/mcpbroker/mcpbroker/state"
)

// Listings implements state.Listings.
type Listings struct{ d *Database }

var _ state.Listings = Listings{}

// Listings returns the listings of the database. Listings that were not read for 30
// days are removed.
func (d *Database) Listings() Listings { return Listings{d} }

// Listings implements state.Listings. It does not wait for a server that is away.
func (l Listings) Listings(ctx context.Context, keys []string) (map[string][]byte, error) {
	rows, err := l.d.db.QueryContext(ctx, `WITH used AS (UPDATE listings SET used = now() WHERE key = ANY($1) AND used < now() - interval '1 day'),
		old AS (DELETE FROM listings WHERE used < now() - interval '30 days' AND NOT key = ANY($1))
		SELECT key, body FROM listings WHERE key = ANY($1)`, keys)
	if err != nil {
		return nil, l.d.failed("read listings in", err)
	}
	defer rows.Close()
	all := make(map[string][]byte)
	for rows.Next() {
		var key string
		var body []byte
		if err := rows.Scan(&key, &body); err != nil {
			return nil, l.d.failed("read listings in", err)
		}
		all[key] = body
	}
	return all, l.d.failed("read listings in", rows.Err())
}

// SetListing implements state.Listings.
func (l Listings) SetListing(ctx context.Context, key string, listing []byte) error {
	hash := sha256.Sum256(listing)
	_, err := l.d.db.ExecContext(ctx, `WITH kept AS (INSERT INTO listings (key, hash, body) VALUES ($1, $2, $3)
		ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, body = excluded.body WHERE listings.hash <> excluded.hash RETURNING key)
		SELECT pg_notify($4, $5) FROM kept`, key, hash[:], listing, l.d.channel(), notice(state.TopicListings, key))
	return l.d.failed("keep a listing in", err)
}
