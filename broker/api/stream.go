package api

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/state"
)

const (
	// maxStreams is how many pages may follow the stream at one time.
	maxStreams = 16
	// newsEvery is how often the record is looked at: a page shows a call at most
	// this and the time of its commit later.
	newsEvery = 50 * time.Millisecond
	// beatEvery keeps a stream without news alive, and finds pages that are gone.
	beatEvery = 15 * time.Second
	// sessionEvery is how often the session of a page is looked at, which may be in a
	// database.
	sessionEvery = time.Second
)

// News is one message of the stream: what was recorded since the last one.
type News struct {
	Executions List[state.Execution] `json:"executions"`
	Calls      List[state.Call]      `json:"calls"`
	Events     List[state.Event]     `json:"events"`
	// Missed means that there was too much: read everything again.
	Missed bool `json:"missed,omitempty"`
}

var streams atomic.Int32

// Watched reports whether a page is open that shows news.
func Watched() bool { return streams.Load() > 0 }

// follow answers server-sent events: "news" with a News and the position after it
// as its id, and "servers" when a server is not as it was. A page that comes back
// with Last-Event-ID gets what it has missed.
func (s *server) follow(r *http.Request) (int, any, error) {
	if streams.Add(1) > maxStreams {
		streams.Add(-1)
		return 0, nil, newProblem(http.StatusServiceUnavailable, "too_many", "%d pages are open: close one", maxStreams)
	}
	return http.StatusOK, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer streams.Add(-1)
		last := r.Header.Get("Last-Event-ID")
		f := follower{s: s, w: w, flush: http.NewResponseController(w), at: state.ParsePosition(last), sent: map[string]string{}}
		f.session = f.in(r)
		f.lost = last != "" && f.at == state.Position{}
		w.Header().Set("Content-Type", "text/event-stream")
		f.run(r)
	}), nil
}

// A follower is one stream.
type follower struct {
	s       *server
	session bool // the request was admitted by its session
	w       http.ResponseWriter
	flush   *http.ResponseController
	at      state.Position
	lost    bool              // position of the page unknown
	sent    map[string]string // the status of each execution that was sent
	servers string
	wrote   time.Time
	looked  time.Time // at the session
}

func (f *follower) run(r *http.Request) {
	tick := time.NewTicker(newsEvery)
	defer tick.Stop()
	f.servers = f.serverStates()
	for first := true; ; first = false {
		n, err := f.s.o.Reader.Audit.News(r.Context(), f.at)
		if err != nil {
			if r.Context().Err() == nil {
				f.s.o.Logger.Error("follow the record", "err", err)
			}
			return
		}
		f.at, n.Missed = n.At, n.Missed || first && f.lost
		n.Executions = f.fresh(n.Executions)
		if now := f.serverStates(); now != f.servers {
			f.servers = now
			err = f.write("event: servers\ndata: {}\n\n")
		}
		for i := range n.Calls { // listCalls and showExecution have them
			n.Calls[i].Args, n.Calls[i].Result = nil, nil
		}
		if news := (News{n.Executions, n.Calls, n.Events, n.Missed}); err == nil && (first || len(news.Executions)+len(news.Calls)+len(news.Events) > 0 || news.Missed) {
			err = f.write("event: news\nid: " + n.At.String() + "\ndata: " + gate.Encode(news).String() + "\n\n")
		}
		if err == nil && time.Since(f.wrote) > beatEvery {
			err = f.write(":\n\n")
		}
		if err != nil {
			return
		}
		select {
		case <-tick.C:
			if f.session && time.Since(f.looked) > sessionEvery {
				if f.looked = time.Now(); !f.in(r) {
					return // as any other request is refused by now
				}
			}
		case <-r.Context().Done():
			return
		}
	}
}

// in reports whether the page has a session.
func (f *follower) in(r *http.Request) bool {
	who, refusal := f.s.session(r)
	return refusal == nil && who.In
}

// write sends one message.
func (f *follower) write(text string) error {
	f.wrote = time.Now()
	if _, err := fmt.Fprint(f.w, text); err != nil {
		return err
	}
	return f.flush.Flush()
}

// fresh omits executions that were already sent unchanged.
func (f *follower) fresh(list []state.Execution) (news []state.Execution) {
	if len(f.sent) > state.MaxNews {
		clear(f.sent)
	}
	for _, e := range list {
		if f.sent[e.ID] != e.Status {
			f.sent[e.ID] = e.Status
			news = append(news, e)
		}
	}
	return news
}

func (f *follower) serverStates() (states string) {
	for _, st := range f.s.o.Reader.Broker.Status() {
		states += fmt.Sprintf("%s %s %d\n", st.Name, st.State, st.Tools)
	}
	return states
}
