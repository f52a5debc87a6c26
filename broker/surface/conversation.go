package surface

//lint:file-ignore SA1019 roots are deprecated since 2026-07-28, and clients have them still

import (
	"context"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/discovery/questions"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
)

// conversations are the sessions that have called something, with what the
// servers behind the broker are to know of them.
type conversations struct {
	mu sync.Mutex
	by map[*mcp.ServerSession]*conversation
}

// A conversation is one session of a client.
type conversation struct {
	upstream.Conversation
	session *mcp.ServerSession
	dir     string // where the client works, if it has said so when it connected

	mu      sync.Mutex  // held while the client is asked for its roots
	known   atomic.Bool // folders are those of its roots
	folders []string
}

// rootsTime is how long a client may take to list its roots.
const rootsTime = 2 * time.Second

const (
	// maxRoots bounds the roots of a client.
	maxRoots = 100
	// maxRootBytes bounds the URI of a root.
	maxRootBytes = 4096
)

// overHTTP reports whether a request came over HTTP. Its client may be on another
// machine: the broker does not ask it for roots, and ignores the roots that it sends.
func overHTTP(extra *mcp.RequestExtra) bool { return extra != nil && extra.Header != nil }

// ownerOf returns the owner of a conversation's instances. HTTP clients without a token
// never share an instance with clients of this user.
func ownerOf(caller Caller, remote bool) string {
	if remote {
		return "http " + caller.Owner
	}
	return caller.Owner
}

// conversation returns the conversation that a request belongs to, for upstream servers; nil
// where the protocol does not tell conversations apart.
func (cs *conversations) conversation(ctx context.Context, session *mcp.ServerSession, caller Caller, stateless, remote bool) *upstream.Conversation {
	owner := ownerOf(caller, remote)
	switch {
	case stateless && caller.Owner != "":
		return &upstream.Conversation{ID: "token " + caller.Owner, Owner: owner}
	case stateless, caller.Session == "":
		return nil
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c := cs.by[session]; c != nil {
		return &c.Conversation
	}
	if cs.by == nil {
		cs.by = make(map[*mcp.ServerSession]*conversation)
	}
	peer, _ := ctx.Value(peerKey{}).(Peer)
	over, end := context.WithCancel(context.Background())
	c := &conversation{session: session, dir: peer.Dir, Conversation: upstream.Conversation{ID: caller.Session, Owner: owner, Over: over}}
	if !remote {
		c.Folders = c.listFolders
	}
	cs.by[session] = c
	go func() { // it ends with the session
		defer end()
		_ = session.Wait()
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(cs.by, session)
	}()
	return &c.Conversation
}

// listFolders returns the folders of the client's roots, or its working folder. A
// client that does not answer is not asked again.
func (c *conversation) listFolders(ctx context.Context) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known.Swap(true) { // false again if they change while it is asked
		return c.folders
	}
	c.folders = rootsOf(ctx, c.session)
	if ctx.Err() != nil {
		c.known.Store(false)
	}
	if len(c.folders) == 0 && c.dir != "" {
		c.folders = []string{c.dir}
	}
	return c.folders
}

// rootsOf are the folders of a client's roots.
func rootsOf(ctx context.Context, session *mcp.ServerSession) []string {
	init := session.InitializeParams()
	if init == nil || !questions.Of(init.Capabilities).Roots || init.ProtocolVersion >= StatelessSince {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTime)
	defer cancel()
	list, err := session.ListRoots(ctx, nil)
	if err != nil {
		return nil // some clients promise roots that they do not have
	}
	var folders []string
	for _, r := range list.Roots[:min(len(list.Roots), maxRoots)] {
		if r == nil {
			continue
		}
		if dir := folderOf(r.URI); dir != "" {
			folders = append(folders, dir)
		}
	}
	return folders
}

// folderOf is the folder of a root on this machine; "" if it is something else.
func folderOf(root string) string {
	if len(root) > maxRootBytes {
		return ""
	}
	u, err := url.Parse(root)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/") // file:///C:/folder
	}
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		return ""
	}
	return filepath.Clean(path)
}

type peerKey struct{}

// A Peer is one of several clients that are connected at the same time.
type Peer struct {
	ID  string // differs from that of all others
	Dir string // where it works; may be empty
	// Roots is called with the folders of the client's roots when these are known,
	// and when they have changed; nil is not.
	Roots func(folders []string)
}
