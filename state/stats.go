package state

import (
	"encoding/json"
	"time"
)

// A Filter chooses executions. Its zero value chooses the last 50.
type Filter struct {
	// Limit is how many are listed at most: 0 means 50, below 0 all.
	Limit int
	// Since leaves out what began before, Until, if not zero, what began then or
	// later.
	Since, Until time.Time
	// Status, Client and Server, if not empty, leave out what has another
	// status or client, or made no call to that server. Client is Client or
	// ClientInfo of an execution.
	Status, Client, Server string
	// Text, if not empty, is part of the id, the client, the error or the code,
	// whatever the case of its letters in ASCII.
	Text string
}

// Stats sums up what was recorded.
type Stats struct {
	// Executions is their number, and ByStatus that of each status.
	Executions int            `json:"executions"`
	ByStatus   map[string]int `json:"by_status"`
	// Calls and Errors are the numbers of calls and of those that were not ok.
	Calls  int `json:"calls"`
	Errors int `json:"errors"`
	// BytesIn is what came into the sandbox, BytesOut what went to the model,
	// BytesKept what the model was spared: for each execution what came in
	// beyond what went out.
	BytesIn   int64 `json:"bytes_in"`
	BytesOut  int64 `json:"bytes_out"`
	BytesKept int64 `json:"bytes_kept"`
	// Tools are the tools that were called, by server and name.
	Tools []ToolStats `json:"tools"`
	// Days are the days (UTC) on which executions began, the earliest first.
	Days []DayStats `json:"days"`
}

// DayStats sums up the executions that began on one day.
type DayStats struct {
	Day        string `json:"day"` // such as 2026-11-23
	Executions int    `json:"executions"`
	Calls      int    `json:"calls"`
	BytesIn    int64  `json:"bytes_in"`
	BytesOut   int64  `json:"bytes_out"`
	BytesKept  int64  `json:"bytes_kept"`
}

// ToolStats sums up the calls of one tool.
type ToolStats struct {
	Server, Tool string
	// Calls and Errors are the numbers of calls and of those that were not ok.
	Calls, Errors int
	// P50 and P99 are the times that half of the calls, and all but one in a
	// hundred, did not exceed; Max is the longest.
	P50, P99, Max time.Duration
	// ArgBytes and ResultBytes are sums.
	ArgBytes, ResultBytes int64
	// Last is when the last of them began.
	Last time.Time
}

// MarshalJSON writes t as the audit commands show it, times in milliseconds.
func (t ToolStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Server      string  `json:"server"`
		Tool        string  `json:"tool"`
		Calls       int     `json:"calls"`
		Errors      int     `json:"errors"`
		P50         float64 `json:"p50_ms"`
		P99         float64 `json:"p99_ms"`
		Max         float64 `json:"max_ms"`
		ArgBytes    int64   `json:"arg_bytes"`
		ResultBytes int64   `json:"result_bytes"`

		Last time.Time `json:"last_call"`
	}{t.Server, t.Tool, t.Calls, t.Errors, milliseconds(t.P50), milliseconds(t.P99), milliseconds(t.Max), t.ArgBytes, t.ResultBytes, t.Last.UTC()})
}

// SkillUse counts what was done with a skill.
type SkillUse struct {
	// Activations, Reads and ToolCalls include failed ones; Errors is the number of
	// these.
	Activations int       `json:"activations"`
	Reads       int       `json:"reads"`
	ToolCalls   int       `json:"tool_calls"`
	Errors      int       `json:"errors"`
	LastUse     time.Time `json:"last_use"`
}

// Add adds the counts of o.
func (u *SkillUse) Add(o SkillUse) {
	u.Activations += o.Activations
	u.Reads += o.Reads
	u.ToolCalls += o.ToolCalls
	u.Errors += o.Errors
	if o.LastUse.After(u.LastUse) {
		u.LastUse = o.LastUse
	}
}

// ClientUse is what one client did with a skill.
type ClientUse struct {
	Client string `json:"client"`
	SkillUse
}

// SkillStats sums up what was done with one skill, and by whom.
type SkillStats struct {
	Skill string `json:"skill"`
	SkillUse
	Clients []ClientUse `json:"clients"`
}
