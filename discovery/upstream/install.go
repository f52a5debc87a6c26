package upstream

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
)

const (
	// maxInstalls is how many servers that a package runner may have to download
	// are started at once. Two dozen at the same time take each other's network
	// and processor until none is ready in time, and an installation that is cut
	// short stays damaged.
	maxInstalls = 4

	// installTurn is how long one may hold its place: a server that hangs delays
	// the others by no more, and itself is waited for as long as ever.
	installTurn = 30 * time.Second
)

// queueInstall waits for a place if s is started by a package runner and was
// never listed, so that it may have to be downloaded. The start timeout begins
// after it. The function it returns gives the place back.
func (p *Pool) queueInstall(ctx context.Context, s *server) (leave func()) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known || launch.Runner(s.cfg.Command, s.cfg.Args) == "" {
		return func() {}
	}
	select {
	case p.installing <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	give := sync.OnceFunc(func() { <-p.installing })
	turn := time.AfterFunc(installTurn, give)
	return func() { turn.Stop(); give() }
}
