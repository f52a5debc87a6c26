package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

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
	}{t.Server, t.Tool, t.Calls, t.Errors, milliseconds(t.P50), milliseconds(t.P99), milliseconds(t.Max), t.ArgBytes, t.ResultBytes})
}

// Stats sums up what began since then; the zero time means everything.
func (s *Store) Stats(ctx context.Context, since time.Time) (Stats, error) {
	stats := Stats{ByStatus: map[string]int{}, Tools: []ToolStats{}}
	err := s.read(ctx, "sum up", func(conn *sql.Conn, living []int64) error {
		if err := stats.addExecutions(ctx, conn, living, since); err != nil {
			return err
		}
		return stats.addCalls(ctx, conn, since)
	})
	return stats, err
}

func (s *Stats) addExecutions(ctx context.Context, conn *sql.Conn, living []int64, since time.Time) error {
	// What an execution that has not ended kept is not known yet.
	rows, err := conn.QueryContext(ctx, `SELECT state, count(*), sum(bytes_in), sum(bytes_out), sum(max(bytes_in - bytes_out, 0))
		FROM `+executionsAs(living)+` WHERE started >= ? GROUP BY state`, unixNano(since))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var status string
		var n int
		var in, out, kept int64
		if err := rows.Scan(&status, &n, &in, &out, &kept); err != nil {
			return err
		}
		s.Executions += n
		s.ByStatus[status] = n
		s.BytesIn += in
		s.BytesOut += out
		if status != StatusInterrupted { // its answer never arrived
			s.BytesKept += kept
		}
	}
	return rows.Err()
}

func (s *Stats) addCalls(ctx context.Context, conn *sql.Conn, since time.Time) error {
	rows, err := conn.QueryContext(ctx, `SELECT server, tool, status, duration, arg_bytes, result_bytes FROM calls
		WHERE started >= ? ORDER BY server, tool, duration`, unixNano(since))
	if err != nil {
		return err
	}
	defer rows.Close()
	var tool *ToolStats
	var durations []time.Duration // of tool, shortest first
	finish := func() {
		if tool != nil {
			tool.P50, tool.P99, tool.Max = quantile(durations, 50), quantile(durations, 99), quantile(durations, 100)
		}
		durations = durations[:0]
	}
	for rows.Next() {
		var server, name, status string
		var d time.Duration
		var args, result int64
		if err := rows.Scan(&server, &name, &status, &d, &args, &result); err != nil {
			return err
		}
		if tool == nil || tool.Server != server || tool.Tool != name {
			finish()
			s.Tools = append(s.Tools, ToolStats{Server: server, Tool: name})
			tool = &s.Tools[len(s.Tools)-1]
		}
		tool.Calls++
		s.Calls++
		if status != CallOK {
			tool.Errors++
			s.Errors++
		}
		tool.ArgBytes += args
		tool.ResultBytes += result
		durations = append(durations, d)
	}
	finish()
	return rows.Err()
}

// quantile returns the value that percent of the sorted values do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
