package top

import (
	"encoding/json"
	"slices"
	"time"
)

// The displayed part of the answers of a broker's HTTP interface. docs/console.md describes it.
type (
	server struct {
		Name      string `json:"name"`
		Transport string `json:"transport"`
		Status    string `json:"status"`
		Tools     int    `json:"tool_count"`
		Error     string `json:"error"`
	}
	serverDetail struct {
		Server   server   `json:"server"`
		Version  string   `json:"version"`
		Protocol string   `json:"protocol"`
		Stderr   []string `json:"stderr"`
	}
	execution struct {
		ID         string    `json:"id"`
		Client     string    `json:"client"`
		ClientInfo string    `json:"client_info"`
		Status     string    `json:"status"`
		ExitCode   int       `json:"exit_code"`
		Started    time.Time `json:"started"`
		MS         float64   `json:"duration_ms"`
		Calls      int       `json:"calls"`
		BytesIn    int64     `json:"bytes_in"`
		BytesOut   int64     `json:"bytes_out"`
		Error      string    `json:"error"`
	}
	call struct {
		N         int64     `json:"n"`
		Execution string    `json:"execution"`
		Client    string    `json:"client"`
		Seq       int       `json:"seq"`
		Server    string    `json:"server"`
		Tool      string    `json:"tool"`
		Class     string    `json:"class"`
		Status    string    `json:"status"`
		Started   time.Time `json:"started"`
		MS        float64   `json:"duration_ms"`
		WaitedMS  float64   `json:"waited_ms"`
		Error     string    `json:"error"`
	}
	// A run waits for a person.
	run struct {
		ID        string    `json:"run_id"`
		Client    string    `json:"client"`
		Principal string    `json:"principal"`
		Started   time.Time `json:"started"`
		Expires   time.Time `json:"expires"`

		calls []runCall // calls that wait
	}
	runCall struct {
		N      int             `json:"n"`
		Tool   string          `json:"tool"`
		Args   json.RawMessage `json:"args"`
		Why    string          `json:"why"`
		State  string          `json:"state"`
		Digest string          `json:"digest"`
	}
	news struct {
		Executions []execution `json:"executions"`
		Calls      []call      `json:"calls"`
		Missed     bool        `json:"missed"`
	}
)

const (
	running = "running"
	read    = "read"

	bytesPerToken = 4 // as the ledger estimates
)

func (e *execution) client() string {
	switch {
	case e.ClientInfo != "":
		return e.ClientInfo
	case e.Client != "":
		return e.Client
	}
	return "unknown"
}

// took returns the duration of the execution so far.
func (e *execution) took(now time.Time) time.Duration {
	if e.Status == running {
		return max(0, now.Sub(e.Started))
	}
	return duration(e.MS)
}

// savedTokens estimates the tokens that were kept out of the model.
func (e *execution) savedTokens() int64 { return max(0, e.BytesIn-e.BytesOut) / bytesPerToken }

func (c *call) ended() time.Time { return c.Started.Add(duration(c.MS)) }

// writes reports whether a call may have changed something.
func (c *call) writes() bool { return c.Class != "" && c.Class != read }

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

const (
	window        = time.Minute // the time that rates and percentiles cover
	maxWindow     = 20_000
	maxExecutions = 500
	maxWrites     = 200
)

// A record contains the displayed data of the broker, the latest first.
type record struct {
	servers     []server
	executions  []execution
	writes      []call
	recent      []call // of the last minute, the oldest first
	waiting     []run
	savedTokens int64 // today
}

// add adds news.
func (r *record) add(n news) {
	for _, e := range n.Executions {
		i := slices.IndexFunc(r.executions, func(o execution) bool { return o.ID == e.ID })
		if i < 0 {
			r.executions = append(r.executions, e)
		} else {
			r.savedTokens -= r.executions[i].savedTokens()
			r.executions[i] = e
		}
		r.savedTokens += e.savedTokens()
	}
	slices.SortStableFunc(r.executions, func(a, b execution) int { return b.Started.Compare(a.Started) })
	r.executions = r.executions[:min(len(r.executions), maxExecutions)]
	r.addCalls(n.Calls)
}

// addCalls adds calls in any order.
func (r *record) addCalls(list []call) {
	fresh := make(map[int64]bool)
	for _, c := range list {
		fresh[c.N] = true
	}
	known := func(c call) bool { return fresh[c.N] }
	r.recent, r.writes = slices.DeleteFunc(r.recent, known), slices.DeleteFunc(r.writes, known)
	for _, c := range list {
		r.recent = append(r.recent, c)
		if c.writes() {
			r.writes = append(r.writes, c)
		}
	}
	slices.SortStableFunc(r.recent, func(a, b call) int { return a.ended().Compare(b.ended()) })
	r.recent = r.recent[max(0, len(r.recent)-maxWindow):]
	slices.SortStableFunc(r.writes, func(a, b call) int { return b.ended().Compare(a.ended()) })
	r.writes = r.writes[:min(len(r.writes), maxWrites)]
}

// A load summarizes the calls of a server in the last minute.
type load struct {
	calls, errors int
	p95           time.Duration
}

// loads drops calls that are older than the window, and summarizes the others.
func (r *record) loads(now time.Time) map[string]load {
	r.recent = slices.DeleteFunc(r.recent, func(c call) bool { return now.Sub(c.ended()) > window })
	took := make(map[string][]time.Duration)
	sums := make(map[string]load)
	for _, c := range r.recent {
		l := sums[c.Server]
		l.calls++
		if c.Status != "ok" {
			l.errors++
		}
		sums[c.Server] = l
		took[c.Server] = append(took[c.Server], duration(c.MS))
	}
	for name, list := range took {
		slices.Sort(list)
		l := sums[name]
		l.p95 = list[(len(list)*95+99)/100-1]
		sums[name] = l
	}
	return sums
}
