package postgres

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Buckets implements state.Buckets.
type Buckets struct {
	d     *Database
	taken atomic.Int64
}

var _ state.Buckets = (*Buckets)(nil)

// Buckets returns the buckets of the database.
func (d *Database) Buckets() *Buckets { return &Buckets{d: d} }

// sweepAfter is how many questions are asked before the buckets that are full go: they
// are what they would be without a row.
const sweepAfter = 1000

// changeBucket takes up to $4 tokens out of bucket $1, with the rate $2 and the burst
// $3: at most half of the tokens there, but at least one; or it puts -$4 back. One row
// is one statement: a concurrent one waits, and reads the clock after that. A bucket
// without a row is full.
const changeBucket = `INSERT INTO buckets AS b (key, tokens, at, granted, full_at)
	SELECT $1, $3::float8 - g, now, g, now + make_interval(secs => g / $2::float8) FROM (
		SELECT clock_timestamp() AS now, greatest(0, least($4::float8, greatest(1, floor($3::float8 / 2)))) AS g OFFSET 0) n
	ON CONFLICT (key) DO UPDATE SET (tokens, at, granted, full_at) = (
		SELECT held - g, now, g, now + make_interval(secs => ($3 - held + g) / $2) FROM (
			SELECT now, held, CASE WHEN $4 < 0 THEN greatest($4, held - $3) ELSE least($4, greatest(least(1, floor(held)), floor(held / 2))) END AS g FROM (
				SELECT now, least($3, b.tokens + $2 * greatest(0, extract(epoch FROM now - b.at))) AS held FROM (
					SELECT clock_timestamp() AS now OFFSET 0) c OFFSET 0) h OFFSET 0) n)
	RETURNING granted, tokens`

// TakeTokens implements state.Buckets.
func (o *Buckets) TakeTokens(ctx context.Context, b state.Bucket, want int) (got int, wait time.Duration, err error) {
	if err := state.CheckBucket(b, want); err != nil {
		return 0, 0, err
	}
	if o.taken.Add(1)%sweepAfter == 0 {
		if _, err := o.d.db.ExecContext(ctx, "DELETE FROM buckets WHERE full_at < clock_timestamp()"); err != nil {
			o.d.log.Warn("forget full buckets", "err", explain(err))
		}
	}
	var left float64
	err = o.d.db.QueryRowContext(ctx, changeBucket, clean(b.Key), b.Rate, float64(b.Burst), float64(want)).Scan(&got, &left)
	if err != nil {
		return 0, 0, o.d.failed("count in", err)
	}
	if got == 0 {
		wait = time.Duration(math.Ceil((1 - left) / b.Rate * float64(time.Second)))
	}
	return got, wait, nil
}

// ReturnTokens implements state.Buckets.
func (o *Buckets) ReturnTokens(ctx context.Context, b state.Bucket, n int) error {
	if err := state.CheckBucket(b, n); err != nil {
		return err
	}
	_, err := o.d.db.ExecContext(ctx, changeBucket, clean(b.Key), b.Rate, float64(b.Burst), -float64(n))
	return o.d.failed("count in", err)
}
