package postgres

import (
	"context"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
	"github.com/mcpbroker/mcpbroker/state"
	"github.com/mcpbroker/mcpbroker/state/tables"
)

// Buckets that are full again leave no row.
func TestFullBucketsAreForgotten(t *testing.T) {
	d := connect(t, address(t))
	buckets := d.Buckets()
	take := func(key string, rate float64) {
		if _, _, err := buckets.TakeTokens(t.Context(), state.Bucket{Key: key, Rate: rate, Burst: 1}, 1); err != nil {
			t.Fatal(err)
		}
	}
	take("slow", 1e-6)
	take("fast", 1e9)
	for range sweepAfter {
		take("slow", 1e-6)
	}
	var rows int
	if err := d.db.QueryRowContext(t.Context(), "SELECT count(*) FROM buckets").Scan(&rows); err != nil || rows != 1 {
		t.Errorf("%d rows, %v; want that of the empty bucket", rows, err)
	}
}

// Of all brokers one removes what is old, and when it ends another one.
func TestOneBrokerKeepsTheRecord(t *testing.T) {
	at := address(t)
	keeper := func() (func() bool, func()) {
		d := connect(t, at)
		c, err := d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conn := tables.NewConn(c, dialect)
		return func() (yes bool) {
			if err := conn.QueryRowContext(context.Background(), dialect.Keeper).Scan(&yes); err != nil {
				t.Error(err)
			}
			return yes
		}, func() { c.Close(); d.Close() }
	}
	first, end := keeper()
	second, endSecond := keeper()
	defer endSecond()
	if !first() || second() || !first() {
		t.Fatal("two brokers remove what is old, or none does")
	}
	end()
	eventually.True(t, "another broker removes what is old", second)
}
