package await

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	application "github.com/mcpbroker/mcpbroker/internal/app"
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// firstWait is the time for which a starting server delays searches.
const firstWait = 10 * time.Second

// knownWait is the time for which a search waits for servers if others have a match.
const knownWait = 1500 * time.Millisecond

// Search waits for servers that were never listed, like a model's search, or until a
// key is pressed; for less time if a known tool matches.
func Search(ctx context.Context, t *cli.IO, s *application.App, req broker.SearchRequest) (broker.SearchAnswer, error) {
	s.BeginLearning(ctx, req.Server)
	// Earlier searches have waited for servers that a daemon has been starting for
	// longer.
	req.NoWait = !slices.ContainsFunc(Starting(s), func(st upstream.Status) bool { return time.Since(st.Since) < firstWait })
	if req.NoWait {
		return s.Broker.Search(ctx, req)
	}
	goOn := make(chan struct{})
	stopWaiting := sync.OnceFunc(func() { close(goOn) })
	known := req
	known.NoWait = true
	if found, err := s.Broker.Search(ctx, known); err != nil {
		return found, err
	} else if len(found.Tools) > 0 {
		defer time.AfterFunc(knownWait, stopWaiting).Stop()
	}
	req.GoOn = goOn
	done := goOnByKey(ctx, t, s, len(Starting(s)), stopWaiting)
	defer done()
	return s.Broker.Search(ctx, req)
}
