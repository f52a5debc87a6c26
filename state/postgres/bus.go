package postgres

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// busBeat is the interval at which the connection of a bus is checked, and
	// busPatience the time that the server has to answer.
	busBeat, busPatience = time.Second, 3 * time.Second
	// maxNotice is how long a notice may be: the server takes 8,000 bytes.
	maxNotice = 7_500
	// maxIdentifier is how long the name of a channel may be.
	maxIdentifier = 63
)

// A Bus implements state.Bus: one connection that listens. With its session it has
// the lock of the broker that leads, so that another one leads when it is gone.
type Bus struct {
	state.LocalBus
	d      *Database
	leads  atomic.Bool
	cancel context.CancelFunc
	done   chan struct{}
}

var _ state.Bus = (*Bus)(nil)

// Bus returns a bus, which must be closed before the database.
func (d *Database) Bus() *Bus {
	ctx, cancel := context.WithCancel(context.Background())
	b := &Bus{d: d, cancel: cancel, done: make(chan struct{})}
	go b.listen(ctx)
	return b
}

// Close ends the connection, and with it that this broker leads.
func (b *Bus) Close() error {
	b.cancel()
	<-b.done
	return nil
}

// Leads implements state.Bus.
func (b *Bus) Leads() bool { return b.leads.Load() }

// Publish implements state.Bus.
func (b *Bus) Publish(ctx context.Context, topic, name string) error {
	return b.d.publish(ctx, topic, name)
}

func (d *Database) publish(ctx context.Context, topic, name string) error {
	_, err := d.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", d.channel(), notice(topic, name))
	return d.failed("send a notice through", err)
}

// A Sender is a state.Bus that sends notices and receives none, for what ends soon. It
// needs no connection of its own, and leads.
type Sender struct {
	state.LocalBus
	d *Database
}

var _ state.Bus = (*Sender)(nil)

// Sender returns a bus that receives nothing.
func (d *Database) Sender() *Sender { return &Sender{d: d} }

// Publish implements state.Bus.
func (s *Sender) Publish(ctx context.Context, topic, name string) error {
	return s.d.publish(ctx, topic, name)
}

// channel is where the notices of a schema are.
func (d *Database) channel() string {
	name := "broker." + d.schema
	return name[:min(len(name), maxIdentifier)] // of two that are cut alike, each hears of both
}

// notice encodes a notice. A name that is too long is replaced by one that means any.
func notice(topic, name string) string {
	if len(name) > maxNotice {
		name = ""
	}
	return topic + " " + clean(name)
}

// listen keeps a connection.
func (b *Bus) listen(ctx context.Context) {
	defer close(b.done)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		began := time.Now()
		err := b.session(ctx)
		b.lead(false)
		if ctx.Err() != nil {
			return
		}
		b.d.log.Warn("no notices of other brokers", "err", explain(err))
		if time.Since(began) > 10*time.Second {
			wait = 20 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// lead notes whether this broker leads.
func (b *Bus) lead(leads bool) {
	if b.leads.Swap(leads) != leads {
		_ = b.LocalBus.Publish(context.Background(), state.TopicLead, "") // never fails
	}
}

// session listens on one connection until it is lost.
func (b *Bus) session(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, b.d.cfg.Copy())
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), busPatience)
		defer cancel()
		_ = conn.Close(ctx) // it is broken, or not needed any more
	}()
	if err := bounded(ctx, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "LISTEN "+quoted(b.d.channel()))
		return err
	}); err != nil {
		return err
	}
	if err := b.beat(ctx, conn); err != nil {
		return err
	}
	for _, topic := range b.Topics() {
		_ = b.LocalBus.Publish(ctx, topic, "") // what was said before is missed
	}
	next := time.Now().Add(busBeat)
	for {
		waiting, cancel := context.WithDeadline(ctx, next)
		n, err := conn.WaitForNotification(waiting)
		late := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			topic, name, _ := strings.Cut(n.Payload, " ")
			_ = b.LocalBus.Publish(ctx, topic, name)
		case ctx.Err() != nil || !late:
			return err
		}
		if late {
			if err := b.beat(ctx, conn); err != nil {
				return err
			}
			next = time.Now().Add(busBeat)
		}
	}
}

// beat checks that the server answers, and becomes the leader if there is none.
func (b *Bus) beat(ctx context.Context, conn *pgx.Conn) error {
	leads := b.leads.Load()
	err := bounded(ctx, func(ctx context.Context) error {
		if leads {
			return conn.Ping(ctx)
		}
		return conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 6))", b.d.schema).Scan(&leads)
	})
	if err == nil {
		b.lead(leads)
	}
	return err
}

// bounded runs f for as long as a server may take that is there.
func bounded(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, busPatience)
	defer cancel()
	return f(ctx)
}
