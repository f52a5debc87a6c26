package host

import (
	"context"
	"net"
	"sync"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/broker/console"
	"github.com/mcpbroker/mcpbroker/broker/surface"
	"github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// ConsoleOptions are what a console draws on of its process.
type ConsoleOptions struct {
	// MayChange reports whether the address that is printed may allow changes: not below
	// a program with a model.
	MayChange func() bool
	// SecretNotes returns how to keep secrets out of the entry of a server.
	SecretNotes func(name string, entry config.Object) []string
}

// A Console listens for browsers from the first time that it is opened until its context is
// done.
type Console struct {
	ctx     context.Context // that of the process, for what is started later
	app     *app.App
	watcher *Watcher
	options ConsoleOptions

	mu      sync.Mutex
	page    *console.Console
	address string
	serving sync.WaitGroup
}

// NewConsole returns the console of an App. Wait must be called when ctx is done.
func NewConsole(ctx context.Context, a *app.App, w *Watcher, o ConsoleOptions) *Console {
	return &Console{ctx: ctx, app: a, watcher: w, options: o}
}

// Open returns an address that opens the console, once.
func (h *Console) Open(changes bool) (url string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.page == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		h.page, h.address = console.New(), l.Addr().String()
		o := apiOptions(h.app, h.watcher, h.options)
		o.Session, o.Private = consoleSession(h.page, nil), true
		handler := surface.ConsoleHandler(h.page, api.New(o), api.Refuse)
		h.serving.Go(func() {
			if err := Serve(h.ctx, l, handler, ServeOptions{}); err != nil {
				h.app.State.Logger.Error("serve the console", "err", err)
			}
		})
	}
	return h.page.URL(h.address, changes, true), nil
}

// Wait returns when the console serves no more.
func (h *Console) Wait() { h.serving.Wait() }
