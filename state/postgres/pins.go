package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"strconv"

	"github.com/mcpbroker/mcpbroker/state"
)

// Pins implements state.Pins: one row for each server.
type Pins struct {
	d     *Database
	cache *pinCache // nil reads them each time
}

var _ state.Pins = Pins{}

// Pins returns the pins of the database.
func (d *Database) Pins() Pins { return Pins{d: d} }

// Pins implements state.Pins.
func (p Pins) Pins(ctx context.Context, server string) (map[state.PinName]state.Pin, error) {
	if p.cache != nil {
		all, err := p.cache.now(ctx)
		return maps.Clone(all[clean(server)].pins), err
	}
	var pins map[state.PinName]state.Pin
	err := p.d.patiently(ctx, func() (err error) {
		pins, _, err = pinsOf(p.d.db.QueryRowContext(ctx, "SELECT body, version FROM pins WHERE server = $1", clean(server)).Scan)
		return err
	})
	return pins, p.d.failed("read pins of "+server+" in", err)
}

// pinsOf reads a row of pins; it returns nil and 0 if there is no row.
func pinsOf(scan func(...any) error) (pins map[state.PinName]state.Pin, version int64, err error) {
	var body []byte
	err = scan(&body, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, nil
	}
	var list []state.Pin
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		return nil, 0, err
	}
	pins = make(map[state.PinName]state.Pin, len(list))
	for _, one := range list {
		pins[one.PinName] = one
	}
	return pins, version, nil
}

// ChangePins implements state.Pins.
func (p Pins) ChangePins(ctx context.Context, server string, f func(map[state.PinName]state.Pin) error) error {
	var no error
	err := p.d.transaction(ctx, func(c *sql.Conn) error {
		if _, err := c.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 3))", clean(server)); err != nil {
			return err
		}
		pins, version, err := pinsOf(c.QueryRowContext(ctx, "SELECT body, version FROM pins WHERE server = $1", clean(server)).Scan)
		if err != nil {
			return err
		}
		if pins == nil {
			pins = map[state.PinName]state.Pin{}
		}
		if no = f(pins); no != nil {
			return no
		}
		list := make([]state.Pin, 0, len(pins))
		for name, one := range pins {
			one.PinName = name
			list = append(list, one)
		}
		body, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, err = c.ExecContext(ctx, "INSERT INTO pins (server, version, body) VALUES ($1, $2, $3) ON CONFLICT (server) DO UPDATE SET version = excluded.version, body = excluded.body",
			clean(server), version+1, body)
		if err == nil {
			_, err = c.ExecContext(ctx, "SELECT pg_notify($1, $2)", p.d.channel(), notice(state.TopicPins, server))
		}
		return err
	})
	if no != nil {
		return no
	}
	if p.cache != nil {
		p.cache.stale()
	}
	return p.d.failed("keep pins in", err)
}

// PinsVersion implements state.Pins. The sum of all versions grows with each
// change: no row is ever removed.
func (p Pins) PinsVersion(ctx context.Context, server string) string {
	if p.cache != nil {
		if all, err := p.cache.now(ctx); err == nil {
			return strconv.FormatInt(versionOf(all, clean(server)), 10)
		}
		return ""
	}
	var version int64
	err := p.d.db.QueryRowContext(ctx, "SELECT coalesce(sum(version), 0)::bigint FROM pins WHERE $1 IN ('', server)", clean(server)).Scan(&version)
	if err != nil {
		p.d.log.Warn("read the version of pins", "err", explain(err))
		return "" // as if they had changed
	}
	return strconv.FormatInt(version, 10)
}
