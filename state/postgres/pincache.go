package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// pinRetry is the time for which the cached pins are used after an error of reading
// them.
const pinRetry = time.Second

// A pinCache caches all pins while the bus reports no change, or while the server is
// away.
type pinCache struct {
	d *Database

	mu    sync.Mutex // not held while the server is asked
	n     int        // of what was heard
	read  int        // n, when all was read; below 0 before that
	retry time.Time
	all   map[string]pinRow

	reading sync.Mutex
}

type pinRow struct {
	version int64
	pins    map[state.PinName]state.Pin
}

// Pins returns the pins of the database, which are read again when the bus says so.
func (b *Bus) Pins() Pins {
	c := &pinCache{d: b.d, read: -1}
	b.Subscribe(state.TopicPins, func(string) { c.stale() })
	return Pins{b.d, c}
}

func (c *pinCache) stale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// now returns the current pins, or the last ones that could be read.
func (c *pinCache) now(ctx context.Context) (map[string]pinRow, error) {
	if all, ok := c.fresh(); ok {
		return all, nil
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	if all, ok := c.fresh(); ok {
		return all, nil
	}
	c.mu.Lock()
	n, before := c.n, c.all
	c.mu.Unlock()
	var all map[string]pinRow
	read := func() (err error) {
		all, err = c.d.allPins(ctx)
		return err
	}
	var err error
	if before == nil {
		err = c.d.patiently(ctx, read)
	} else {
		err = read()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.all, c.read = all, n
	case before == nil:
		return nil, c.d.failed("read pins in", err)
	default:
		c.retry = time.Now().Add(pinRetry)
		c.d.log.Warn("pins stay as they were", "err", explain(err))
	}
	return c.all, nil
}

func (c *pinCache) fresh() (map[string]pinRow, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, c.all != nil && (c.read == c.n || time.Now().Before(c.retry))
}

// allPins reads all pins.
func (d *Database) allPins(ctx context.Context) (map[string]pinRow, error) {
	ctx, cancel := context.WithTimeout(ctx, busPatience)
	defer cancel()
	rows, err := d.db.QueryContext(ctx, "SELECT server, body, version FROM pins")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]pinRow)
	for rows.Next() {
		var server string
		var row pinRow
		row.pins, row.version, err = pinsOf(func(to ...any) error { return rows.Scan(append([]any{&server}, to...)...) })
		if err != nil {
			return nil, err
		}
		all[server] = row
	}
	return all, rows.Err()
}

// version is as Pins.PinsVersion has it.
func versionOf(all map[string]pinRow, server string) (n int64) {
	if server != "" {
		return all[server].version
	}
	for _, row := range all {
		n += row.version
	}
	return n
}
