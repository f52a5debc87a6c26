package catalog

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// Servers start after a moment, or as soon as something waits for them.
func TestServersStartWhenSomethingWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		asks func(c *Catalog)
		want time.Duration
	}{
		"nothing asks":     {func(*Catalog) {}, startDelay},
		"at once":          {(*Catalog).StartNow, 0},
		"a moment later":   {func(c *Catalog) { time.Sleep(startDelay / 2); c.StartNow() }, startDelay / 2},
		"again and again":  {func(c *Catalog) { c.StartNow(); c.StartNow() }, 0},
		"after the moment": {func(c *Catalog) { time.Sleep(2 * startDelay); c.StartNow() }, startDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{}, &upstream.Options{}, func() {})
				c.StartNow() // nothing was started, so it does nothing
				begun, started := time.Now(), make(chan time.Time, 1)
				c.StartSoon(t.Context(), func() { started <- time.Now() })
				tt.asks(c)
				if took := (<-started).Sub(begun); took != tt.want {
					t.Errorf("servers started after %v, want %v", took, tt.want)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
