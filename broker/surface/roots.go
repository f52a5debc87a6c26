package surface

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rootsChanged is called when a client says that its roots have changed.
func (s *Surface) rootsChanged(ctx context.Context, req *mcp.RootsListChangedRequest) {
	s.conversations.mu.Lock()
	c := s.conversations.by[req.Session]
	s.conversations.mu.Unlock()
	if c != nil {
		c.known.Store(false)
	}
	s.reportRoots(ctx, req.Session)
}

// initialized is called when a client is ready for questions.
func (s *Surface) initialized(ctx context.Context, req *mcp.InitializedRequest) {
	s.reportRoots(ctx, req.Session)
}

// reportRoots asks a client for its roots in the background, if its Peer uses roots.
func (s *Surface) reportRoots(ctx context.Context, session *mcp.ServerSession) {
	peer, _ := ctx.Value(peerKey{}).(Peer)
	if peer.Roots == nil {
		return
	}
	s.background("roots/list", func() { // it ends with the session or after its timeout
		if folders := rootsOf(context.WithoutCancel(ctx), session); len(folders) > 0 {
			peer.Roots(folders)
		}
	})
}
