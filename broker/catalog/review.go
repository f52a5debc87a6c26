package catalog

import "github.com/mcpbroker/mcpbroker/discovery"

// Review returns what the pins would newly hold back of a listing of a server.
func (c *Catalog) Review(next discovery.Listing) []discovery.Held {
	c = c.root()
	pins := c.opts.Load().Pins
	if pins == nil {
		return nil
	}
	now := make(map[discovery.Held]bool)
	for _, l := range c.Approved() {
		for _, h := range l.Held {
			if l.Server == next.Server {
				now[h] = true
			}
		}
	}
	all := c.Pool.Listings()
	for i, l := range all {
		if l.Server == next.Server {
			all[i] = next
		}
	}
	var held []discovery.Held
	for _, l := range pins.Peek(all) {
		for _, h := range l.Held {
			if l.Server == next.Server && !now[h] {
				held = append(held, h)
			}
		}
	}
	return held
}
