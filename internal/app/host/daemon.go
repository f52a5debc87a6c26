package host

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/daemon"
)

// DaemonIdle is how long a daemon stays after its last client.
const DaemonIdle = 10 * time.Minute

// RunDaemon serves all clients on stdio of a config until ctx is done, or idle has passed
// since the last one left. Zero means forever. It claims the place first, so that clients
// wait for this process and do not start more, and opens everything else then. If another
// daemon runs, it prints that and returns.
func (c *Client) RunDaemon(ctx context.Context, idle time.Duration, console ConsoleOptions) error {
	settings, err := c.Settings()
	if err != nil {
		return err
	}
	build, err := c.Build()
	if err != nil {
		return err
	}
	d, err := daemon.Claim(settings.StateDir, build, c.Logger)
	if errors.Is(err, daemon.ErrRunning) {
		c.Print("broker: " + err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	o, variables := c.OpenOptions, NewVariables(c.Sources.Env)
	o.IgnoreProject, o.Servers = true, variables.sources(c.Sources)
	a, err := app.OpenServing(ctx, o)
	if err != nil {
		d.Refuse(err.Error())
		return err
	}
	defer a.ServeMetrics()()
	a.Broker.StartSoon(ctx)
	w, stop := Watch(ctx, a)
	done := a.PrintLayers(ctx)
	if idle <= 0 {
		idle = math.MaxInt64
	}
	browsing, endBrowsing := context.WithCancel(ctx)
	defer endBrowsing()
	h := newTenantHost(a, variables, settings, func() { a.RetryFailed(ctx) })
	h.current = w.Current
	h.console = NewConsole(browsing, a, w, console)
	look := make(chan struct{})
	go func() {
		defer close(look)
		h.watch(browsing, watchEvery)
	}()
	err = d.Serve(ctx, h, idle)
	h.rest.stop()
	endBrowsing()
	<-look
	h.console.Wait()
	h.adopting.Wait()
	done()
	stop()
	return errors.Join(err, a.Close())
}
