package api

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/discovery/sharing"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/internal/pins"
	"github.com/mcpbroker/mcpbroker/internal/redact"
	"github.com/mcpbroker/mcpbroker/internal/tokens"
	"github.com/mcpbroker/mcpbroker/state"
)

// A Reader answers questions about a broker and its record. What its methods
// return is what commands print with --json, and what HTTP answers: one
// vocabulary. It is safe for concurrent use.
type Reader struct {
	// Broker is needed for servers, searches and pins; the price of definitions is
	// left out without one.
	Broker *broker.Broker
	// Audit is the record of executions, calls and events.
	Audit Record
	// Runs are the runs that wait for a person.
	Runs RunStore
	// Pins are what servers offered when it was approved; nil compares nothing.
	Pins *pins.Store
	// Tokens describes the tokens in the arguments of waiting calls; if nil, they are
	// shown unchanged.
	Tokens Tokens
}

// Tokens describes the values of a client's tokens.
type Tokens interface {
	// Describe returns arguments in which a description follows each token of the
	// principal: the part of the value that a person may see.
	Describe(principal string, args []byte) []byte
}

// A Record is what is read of an audit record.
type Record interface {
	state.History
	state.Rows
	state.Summary
}

// A RunStore is what is read of journals of runs, and changed by decisions.
type RunStore interface {
	state.RunHistory
	Change(ctx context.Context, id string, f func(*state.Run, []state.RunCall) error) error
}

// The answers that are lists. A nil list is written as [].
type (
	// Executions are those of a filter.
	Executions struct {
		Executions List[state.Execution] `json:"executions"`
		// Searched is set if older executions were not looked at yet: ask for those
		// until then.
		Searched *time.Time `json:"searched,omitempty"`
	}
	// An Execution is one with its calls.
	Execution struct {
		Execution state.Execution  `json:"execution"`
		Calls     List[state.Call] `json:"calls"`
	}
	// Calls are those of a filter.
	Calls struct {
		Calls List[state.Call] `json:"calls"`
		// Searched is set if older calls were not looked at yet: ask for those before
		// it.
		Searched int64 `json:"searched,omitempty"`
	}
	// Events are those of servers, skills and plugins.
	Events struct {
		Events List[state.Event] `json:"events"`
	}
)

// A List is written as [] if it is nil.
type List[T any] []T

// MarshalJSON writes the list.
func (l List[T]) MarshalJSON() ([]byte, error) { return json.Marshal(append([]T{}, l...)) }

// A ServerRow is a server as shown to people: the information for models, the sharing
// of its instances, and its package.
type ServerRow struct {
	broker.ServerInfo
	Instances     sharing.Kind `json:"instances,omitempty"`
	InstancesWhy  string       `json:"instances_why,omitempty"`
	MaxConcurrent int          `json:"max_concurrent,omitempty"`
	// Package is the package that runs directly, without npx or uvx; empty if the
	// command runs unchanged.
	Package string `json:"package,omitempty"`
	// Doing is the activity of a server that is starting, and Since the time it began.
	Doing string     `json:"doing,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	// FailedAt is the time of Error, Failures the number of consecutive failures, and
	// RetryAt the time of the next automatic attempt.
	FailedAt *time.Time `json:"failed_at,omitempty"`
	Failures int        `json:"failures,omitempty"`
	RetryAt  *time.Time `json:"retry_at,omitempty"`
	// Update is the reason a newer version of the package is not used, or empty.
	Update string `json:"update,omitempty"`
}

// Servers is broker.ServersAnswer with such servers.
type Servers struct {
	Servers []ServerRow `json:"servers"`
	broker.ServersAnswer
}

// Servers returns the states of the configured servers, without waiting for them. With
// a name it returns only that server, with the ids of its tools.
func (r *Reader) Servers(ctx context.Context, name string) Servers {
	list := Servers{ServersAnswer: r.Broker.ListServers(name), Servers: []ServerRow{}}
	byName := make(map[string]upstream.Status)
	for _, st := range r.Broker.Status() {
		byName[st.Name] = st
	}
	for _, i := range list.ServersAnswer.Servers {
		st := byName[i.Name]
		row := ServerRow{ServerInfo: i, Instances: st.Sharing, InstancesWhy: st.SharingWhy, MaxConcurrent: st.MaxConcurrent, Package: r.Broker.Package(ctx, i.Name), Update: r.Broker.HeldUpdate(i.Name)}
		if st.State == upstream.StateStarting && !st.Since.IsZero() {
			since := st.Since.UTC()
			row.Doing, row.Since = string(st.Doing), &since
		}
		if !st.FailedAt.IsZero() {
			at, again := st.FailedAt.UTC(), st.RetryAt.UTC()
			row.FailedAt, row.Failures, row.RetryAt = &at, st.Failures, &again
		}
		list.Servers = append(list.Servers, row)
	}
	return list
}

// A ServerDetail is one server with its use and what it has said.
type ServerDetail struct {
	Server ServerRow `json:"server"`
	Since  string    `json:"since,omitempty"`
	PID    int       `json:"pid,omitempty"`
	// Version is the server's own, Protocol that of MCP.
	Version  string            `json:"version,omitempty"`
	Protocol string            `json:"protocol,omitempty"`
	Use      []state.ToolStats `json:"use"`
	// Stderr is what it wrote there last, without what looks like a secret.
	Stderr []string `json:"stderr"`
}

// usePeriod is how far back the use of a server is summed up.
const usePeriod = 7 * 24 * time.Hour

// Server returns everything about one server; ok is false if the name is unknown.
func (r *Reader) Server(ctx context.Context, name string) (d ServerDetail, ok bool, err error) {
	list, rows := r.Broker.Status(), r.Servers(ctx, name).Servers
	i := slices.IndexFunc(list, func(st upstream.Status) bool { return st.Name == name })
	if i < 0 || len(rows) == 0 { // it may go meanwhile
		return d, false, nil
	}
	st := list[i]
	d = ServerDetail{Server: rows[0], PID: st.PID, Version: gate.Line(st.Version), Protocol: gate.Line(st.Protocol), Use: []state.ToolStats{}, Stderr: []string{}}
	if !st.Since.IsZero() {
		d.Since = st.Since.UTC().Format(time.RFC3339)
	}
	for _, line := range st.Stderr {
		d.Stderr = append(d.Stderr, redact.Text(gate.Line(line)))
	}
	stats, err := r.Audit.Stats(ctx, time.Now().Add(-usePeriod))
	for _, t := range stats.Tools {
		if t.Server == name {
			d.Use = append(d.Use, t)
		}
	}
	return d, true, err
}

// An Explanation is a search as a model makes it, and why its hits are where they
// are.
type Explanation struct {
	// Answer is what the model gets, byte for byte; Bytes and Tokens are its size.
	Answer string `json:"answer"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"`
	MS     int64  `json:"ms"`
	// Hits are in the order of the index, in which equal tools of several servers are
	// not side by side yet.
	Hits []broker.Explained `json:"hits"`
}

// Explain searches. An error is a mistake in the request.
func (r *Reader) Explain(ctx context.Context, req broker.SearchRequest) (Explanation, error) {
	start := time.Now()
	found, err := r.Broker.Search(ctx, req)
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{Answer: gate.Encode(found).String(), MS: time.Since(start).Milliseconds()}
	x.Bytes = len(x.Answer)
	if x.Tokens, err = tokens.Count(x.Answer); err != nil {
		return x, err
	}
	x.Hits, err = r.Broker.Explain(ctx, req)
	return x, err
}

// A Ledger is what was done, and what the model was spared.
type Ledger struct {
	state.Stats
	TokensSaved SavedTokens `json:"tokens_saved"`
	// Skills are those that were used, and by whom.
	Skills []state.SkillStats `json:"skills"`
}

// SavedTokens is what the model was spared. Results are estimated at four bytes a
// token; definitions are counted.
type SavedTokens struct {
	// Definitions is the price of all tool definitions less that of the broker's own
	// tools, in each turn of a conversation; below zero, the broker's own cost more.
	Definitions int `json:"definitions_per_turn"`
	// Results is what came into the sandbox and did not go to the model.
	Results int64 `json:"results"`
}

// BytesPerToken is the estimate for texts that are not there any more to be counted.
const BytesPerToken = 4

// Saved returns the tokens and bytes that a model did not have to read: the definitions
// of all tools without the broker's own, and the results that executions kept. The
// ledger and docs/how-it-works.md use it.
func Saved(definitions, own int, bytesKept int64) SavedTokens {
	return SavedTokens{Definitions: definitions - own, Results: bytesKept / BytesPerToken}
}

// Ledger sums up what began since then; the zero time means everything.
func (r *Reader) Ledger(ctx context.Context, since time.Time) (l Ledger, err error) {
	if l.Stats, err = r.Audit.Stats(ctx, since); err != nil {
		return l, err
	}
	if l.Skills, err = r.Audit.SkillStats(ctx, since); err != nil {
		return l, err
	}
	if l.TokensSaved = Saved(0, 0, l.BytesKept); r.Broker == nil {
		return l, nil // the definitions are those of a config
	}
	before, err := DefinitionTokens(r.Broker.Catalog().Tools())
	if err != nil {
		return l, err
	}
	after, err := SurfaceTokens(r.Broker.Surface())
	l.TokensSaved = Saved(before, after, l.BytesKept)
	return l, err
}

// definition is what a client puts into a model's context of one tool.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// DefinitionTokens is what a model would pay for these tools in every turn.
func DefinitionTokens(tools []*discovery.Tool) (int, error) {
	if len(tools) == 0 {
		return 0, nil
	}
	defs := make([]definition, len(tools))
	for i, t := range tools {
		defs[i] = definition{t.Name, t.Description, t.InputSchema}
		if len(t.InputSchema) == 0 {
			defs[i].InputSchema = json.RawMessage(`{}`)
		}
	}
	return JSONTokens(defs)
}

// SurfaceTokens is what a model pays for the broker's own tools instead.
func SurfaceTokens(s broker.Surface) (int, error) {
	defs := make([]definition, len(s.Tools))
	for i, t := range s.Tools {
		defs[i] = definition{t.Name, t.Description, t.InputSchema.(json.RawMessage)}
	}
	return JSONTokens(defs)
}

// JSONTokens counts the tokens of v as JSON.
func JSONTokens(v any) (int, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return 0, err
	}
	return tokens.Count(strings.TrimSpace(b.String()))
}

// A Pin is an offer of a server, compared with its approved form. Seen identifies its
// present form, so that a person approves only a form that was shown.
type Pin struct {
	pins.Row
	Title string `json:"title"`
	Seen  string `json:"seen"`
}

// PinRows compares what all servers offer, what needs a look first.
func (r *Reader) PinRows() ([]Pin, error) {
	list := []Pin{}
	if r.Pins == nil {
		return list, nil
	}
	rows, err := r.Pins.Rows(r.Broker.Listings())
	for _, row := range rows {
		list = append(list, Pin{row, row.Title(), row.State + row.Digest()})
	}
	slices.SortStableFunc(list, func(a, b Pin) int { return cmp.Compare(a.urgency(), b.urgency()) })
	return list, err
}

// urgency sorts what is held back first, and what is as it was approved last.
func (p Pin) urgency() int {
	switch {
	case p.Held:
		return 0
	case p.State != pins.Approved:
		return 1
	}
	return 2
}
