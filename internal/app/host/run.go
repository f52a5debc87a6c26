package host

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/memory"
	"github.com/mcpbroker/mcpbroker/state"
)

// startTime is the time after which a broker uses little of its program that it used to start.
const startTime = time.Second

// Run opens an App that serves clients, lets serve use it, and closes it. Changes of its
// files are put in force meanwhile.
func Run(ctx context.Context, o app.OpenOptions, serve func(context.Context, *app.App, *Watcher) error) error {
	a, err := app.OpenServing(ctx, o)
	if err != nil {
		return err
	}
	defer a.State.Bus().Subscribe(state.TopicCancel, func(id string) { a.Root.Cancel(id) })()
	defer a.ServeMetrics()()
	a.Broker.StartSoon(ctx)
	defer time.AfterFunc(startTime, memory.ReleaseProgram).Stop() // most of it is only needed to start
	w, stop := Watch(ctx, a)
	err = serve(ctx, a, w)
	stop()
	if e := a.Close(); err == nil {
		err = e
	}
	return err
}

// RunStdio serves one client on in and out. It ends without an error when in ends or ctx is
// done: both are how a client says that it is done.
func RunStdio(ctx context.Context, o app.OpenOptions, in io.Reader, out io.Writer) error {
	return Run(ctx, o, func(ctx context.Context, a *app.App, _ *Watcher) error {
		defer a.PrintLayers(ctx)()
		r := newRest(BrokerRestTime)
		defer r.stop()
		err := surface.ServeLines(ctx, a.Broker.Server("stdio"), surface.Peer{}, in, r.writer(out))
		if ctx.Err() != nil || errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	})
}
