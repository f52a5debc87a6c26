package upstream

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/upstream/link"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A lateLab is a server that registers the tool "late" some time after it was
// first listed, and what its pools made known of it.
type lateLab struct {
	dir string

	mu    sync.Mutex
	heard [][]string          // the tools of each listing that was announced
	after func(s *mcp.Server) // done when the tools were listed, before the answer is sent
}

func (l *lateLab) options() *Options {
	return &Options{
		CacheDir: l.dir,
		OnListing: func(listing discovery.Listing) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.heard = append(l.heard, namesIn(listing))
		},
	}
}

func namesIn(l discovery.Listing) []string {
	var names []string
	for _, t := range l.Tools {
		names = append(names, t.Name)
	}
	return names
}

// start is a run of the broker, with the server as it is when it was started.
func (l *lateLab) start(t *testing.T) *lab {
	t.Helper()
	run := newLab(t, Config{}, l.options())
	run.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == "tools/list" && l.after != nil {
				l.after(run.mcp)
			}
			return res, err
		}
	})
	return run
}

func addLate(s *mcp.Server) {
	s.AddTool(&mcp.Tool{Name: "late", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
}

// knowsLate reports whether the tool is among those that p knows now.
func knowsLate(t *testing.T, p *Pool) bool {
	t.Helper()
	return slices.Contains(toolNames(t, p), "late")
}

// kept reports whether a broker that starts now knows the tool.
func (l *lateLab) kept(t *testing.T) bool {
	t.Helper()
	p := NewPool([]Config{{Name: "s"}}, &Options{CacheDir: l.dir})
	defer p.Close()
	return knowsLate(t, p)
}

// newLateLab has run the server once, with the tool.
func newLateLab(t *testing.T) *lateLab {
	t.Helper()
	l := &lateLab{dir: t.TempDir()}
	run := l.start(t)
	addLate(run.mcp)
	run.Refresh(t.Context())
	run.Close()
	if !l.kept(t) {
		t.Fatal("the tool is not kept")
	}
	l.heard = nil
	return l
}

func TestToolThatComesLateAgainIsThereThroughout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLateLab(t)
		run := l.start(t)
		defer run.Close()
		run.echo(t)
		<-time.After(settleTime / 2)
		if !knowsLate(t, run.Pool) {
			t.Error("the first listing of a session takes the tool away")
		}
		addLate(run.mcp)
		<-time.After(time.Minute)
		if !knowsLate(t, run.Pool) || !l.kept(t) {
			t.Error("the tool is gone")
		}
		for _, names := range l.heard {
			if !slices.Contains(names, "late") {
				t.Errorf("announced without the tool: %v", names)
			}
		}
	})
}

func TestToolThatDoesNotComeAgainIsTakenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLateLab(t)
		run := l.start(t)
		defer run.Close()
		run.echo(t)
		<-time.After(settleTime + time.Second)
		if knowsLate(t, run.Pool) || l.kept(t) {
			t.Error("the tool is still there")
		}
	})
}

// A command that only lists ends when it has the server's last word.
func TestRefreshWaitsForLateTools(t *testing.T) {
	for name, test := range map[string]struct {
		known, comes bool
	}{
		"known, comes again":      {true, true},
		"known, does not come":    {true, false},
		"not known yet, and said": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lateLab{dir: t.TempDir()}
				if test.known {
					l = newLateLab(t)
				}
				if test.comes {
					first := true
					l.after = func(s *mcp.Server) {
						if first {
							first = false
							addLate(s)
							<-time.After(100 * time.Millisecond) // it is announced meanwhile
						}
					}
				}
				run := l.start(t)
				start := time.Now()
				run.Refresh(t.Context())
				if took := time.Since(start); took > settleTime+time.Second {
					t.Errorf("it takes %s", took)
				}
				if knowsLate(t, run.Pool) != test.comes {
					t.Errorf("listed: %v", toolNames(t, run.Pool))
				}
				run.Close()
				if l.kept(t) != test.comes {
					t.Errorf("kept: %t, want %t", !test.comes, test.comes)
				}
			})
		})
	}
}

// What was due when a session ended keeps no listing of the next one away.
func TestTheListingOfASessionThatIsGoneHoldsUpNoOther(t *testing.T) {
	p := NewPool([]Config{{Name: "s"}}, nil)
	defer p.Close()
	s := p.roster.Load().byName["s"]
	old, next := newSession(new(link.Session), s.lister), newSession(new(link.Session), s.lister)
	s.lister.toolsChanged(old)
	relist := &s.lister.relist
	relist.mu.Lock()
	first := relist.timer
	relist.mu.Unlock()
	s.lister.toolsChanged(next)
	relist.mu.Lock()
	defer relist.mu.Unlock()
	if !relist.dueForLocked(next) || !relist.timer.Stop() {
		t.Error("the next session is not listed again")
	}
	if first.Stop() {
		t.Error("the session that is gone is listed still")
	}
}

// A pool that is stopped between the first listing and the next has learned nothing.
func TestStopBeforeTheSecondListingKeepsTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLateLab(t)
		run := l.start(t)
		run.echo(t)
		<-time.After(settleTime / 2)
		run.Close()
		if !l.kept(t) {
			t.Error("the tool is not kept")
		}
	})
}
