// Package top is the full-screen view of a broker: servers, executions, the last writes, and runs
// that wait for a person. It reads the same HTTP interface as the console.
//
// A model handles keys and events, and its view determines the output. Both are pure and
// independent of terminals.
package top

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Options configure a view.
type Options struct {
	// In and Out are the terminal.
	In, Out *os.File
	// Colour enables colours and other attributes.
	Colour bool
	// Connect returns the address of a console, with its token. It is called again
	// when the connection has broken.
	Connect func() (string, error)
	// MayNot is the reason nothing can be approved or denied here, or "".
	MayNot string
	// Notes returns the messages of the process, which must not print them; it may be nil.
	Notes func() string
}

const (
	frameEvery   = 250 * time.Millisecond // the period of redrawing running executions
	waitingEvery = time.Second
	retryEvery   = time.Second
	errandTime   = 30 * time.Second
)

// A view is one run of broker top.
type view struct {
	o       Options
	m       model
	changes chan change
	wg      sync.WaitGroup

	mu     sync.Mutex
	client *client // of the current connection
}

// Run shows the view until the person quits, or ctx is done.
func Run(ctx context.Context, o Options) error {
	s, err := openScreen(o.In, o.Out, o.Colour)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := context.WithCancel(ctx)
	v := &view{o: o, m: model{cannotDecide: o.MayNot, section: executionSection}, changes: make(chan change)}
	defer v.wg.Wait()
	defer cancel()
	v.wg.Go(func() { v.watch(ctx) })
	v.wg.Go(func() { v.watchWaiting(ctx) })
	keys := readKeys(o.In)
	frame := time.NewTicker(frameEvery)
	defer frame.Stop()
	for {
		if o.Notes != nil && v.m.notice == "" {
			v.m.notice = o.Notes()
		}
		width, height := s.size()
		s.draw(v.m.view(width, height, time.Now()), width)
		select {
		case <-ctx.Done():
			return nil
		case <-frame.C:
		case change := <-v.changes:
			change(&v.m)
		case k, ok := <-keys:
			quit, do := v.m.key(k)
			if quit || !ok { // the terminal is gone
				return nil
			}
			v.run(ctx, do)
		}
	}
}

// run runs an errand in the background.
func (v *view) run(ctx context.Context, do errand) {
	if do == nil {
		return
	}
	v.mu.Lock()
	c := v.client
	v.mu.Unlock()
	if c == nil {
		v.m.notice = "not connected yet"
		return
	}
	v.wg.Go(func() {
		limited, cancel := context.WithTimeout(ctx, errandTime)
		defer cancel()
		v.send(ctx, do(limited, c)) // even if the time was up
	})
}

// send sends a change to the goroutine of the model.
func (v *view) send(ctx context.Context, c change) {
	select {
	case v.changes <- c:
	case <-ctx.Done():
	}
}

// watch keeps the model up to date.
func (v *view) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := v.connected(ctx)
		v.send(ctx, func(m *model) { m.problem = fmt.Sprintf("trying again: %v", err) })
		wait(ctx, retryEvery)
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// connected connects, reads everything, and follows the news.
func (v *view) connected(ctx context.Context) error {
	address, err := v.o.Connect()
	if err != nil {
		return err
	}
	c, err := connect(ctx, address)
	if err != nil {
		return err
	}
	whole := func() {
		now, err := c.load(ctx, time.Now())
		v.send(ctx, func(m *model) {
			if err != nil {
				m.problem = err.Error()
				return
			}
			m.record, m.problem, m.loaded = now, "", true
		})
	}
	first := true
	return c.follow(ctx, func(name string, data []byte) {
		var n news
		switch {
		case name == "servers":
			var list struct{ Servers []server }
			if c.get(ctx, "servers", &list) == nil {
				v.send(ctx, func(m *model) { m.servers = list.Servers })
			}
			return
		case name != "news" || json.Unmarshal(data, &n) != nil:
			return
		case first:
			v.mu.Lock()
			v.client = c
			v.mu.Unlock()
			whole()
		case n.Missed:
			whole()
		default:
			v.send(ctx, func(m *model) {
				m.add(n)
				v.run(ctx, m.refresh(n))
			})
		}
		first = false
	})
}

// watchWaiting polls for calls that wait for a person, since there are no events for them.
func (v *view) watchWaiting(ctx context.Context) {
	for wait(ctx, waitingEvery); ctx.Err() == nil; wait(ctx, waitingEvery) {
		v.mu.Lock()
		c := v.client
		v.mu.Unlock()
		if c == nil {
			continue
		}
		if list, err := c.waiting(ctx); err == nil {
			v.send(ctx, func(m *model) { m.waiting = list })
		}
	}
}
