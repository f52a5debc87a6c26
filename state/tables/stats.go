package tables

import (
	"context"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// Stats implements state.Summary.
func (s *Store) Stats(ctx context.Context, since time.Time) (state.Stats, error) {
	stats := state.Stats{ByStatus: map[string]int{}, Tools: []state.ToolStats{}, Days: []state.DayStats{}}
	err := s.read(ctx, "sum up", func(conn *Conn, living []int64) error {
		if err := addExecutions(ctx, conn, &stats, living, since); err != nil {
			return err
		}
		if err := addDays(ctx, conn, &stats, living, since); err != nil {
			return err
		}
		return addCalls(ctx, conn, &stats, since)
	})
	return stats, err
}

func addExecutions(ctx context.Context, conn *Conn, s *state.Stats, living []int64, since time.Time) error {
	// What an execution that has not ended kept is not known yet.
	rows, err := conn.QueryContext(ctx, `SELECT state, count(*), sum(bytes_in), sum(bytes_out), sum(CASE WHEN bytes_in > bytes_out THEN bytes_in - bytes_out ELSE 0 END)
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
		if status != state.StatusInterrupted { // its answer never arrived
			s.BytesKept += kept
		}
	}
	return rows.Err()
}

func addDays(ctx context.Context, conn *Conn, s *state.Stats, living []int64, since time.Time) error {
	rows, err := conn.QueryContext(ctx, `SELECT started / 86400000000000 AS day, count(*), sum(calls), sum(bytes_in), sum(bytes_out),
		sum(CASE WHEN state = 'interrupted' OR bytes_in <= bytes_out THEN 0 ELSE bytes_in - bytes_out END) FROM `+executionsAs(living)+` WHERE started >= ? GROUP BY day ORDER BY day`, unixNano(since))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var d state.DayStats
		var day int64
		if err := rows.Scan(&day, &d.Executions, &d.Calls, &d.BytesIn, &d.BytesOut, &d.BytesKept); err != nil {
			return err
		}
		d.Day = time.Unix(day*86400, 0).UTC().Format(time.DateOnly)
		s.Days = append(s.Days, d)
	}
	return rows.Err()
}

func addCalls(ctx context.Context, conn *Conn, s *state.Stats, since time.Time) error {
	rows, err := conn.QueryContext(ctx, `SELECT server, tool, status, duration, arg_bytes, result_bytes, started FROM calls
		WHERE started >= ? ORDER BY server, tool, duration`, unixNano(since))
	if err != nil {
		return err
	}
	defer rows.Close()
	var tool *state.ToolStats
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
		var args, result, started int64
		if err := rows.Scan(&server, &name, &status, &d, &args, &result, &started); err != nil {
			return err
		}
		if tool == nil || tool.Server != server || tool.Tool != name {
			finish()
			s.Tools = append(s.Tools, state.ToolStats{Server: server, Tool: name})
			tool = &s.Tools[len(s.Tools)-1]
		}
		tool.Calls++
		s.Calls++
		if status != state.CallOK {
			tool.Errors++
			s.Errors++
		}
		tool.ArgBytes += args
		tool.ResultBytes += result
		if at := time.Unix(0, started).UTC(); at.After(tool.Last) {
			tool.Last = at
		}
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

// SkillStats implements state.Summary.
func (s *Store) SkillStats(ctx context.Context, since time.Time) ([]state.SkillStats, error) {
	list := []state.SkillStats{}
	err := s.read(ctx, "sum up skills in", func(conn *Conn, _ []int64) error {
		rows, err := conn.QueryContext(ctx, `SELECT name, client, sum(CASE WHEN kind = ? THEN 1 ELSE 0 END), sum(CASE WHEN kind = ? THEN 1 ELSE 0 END),
			sum(CASE WHEN kind = ? THEN 1 ELSE 0 END), sum(CASE WHEN failed THEN 1 ELSE 0 END), max(time) FROM events
			WHERE kind IN (?, ?, ?) AND name <> '' AND time >= ? GROUP BY name, client ORDER BY name, client`,
			state.EventSkillActivated, state.EventSkillFileRead, state.EventSkillToolCalled,
			state.EventSkillActivated, state.EventSkillFileRead, state.EventSkillToolCalled, unixNano(since))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var skill string
			var use state.ClientUse
			var last int64
			if err := rows.Scan(&skill, &use.Client, &use.Activations, &use.Reads, &use.ToolCalls, &use.Errors, &last); err != nil {
				return err
			}
			use.LastUse = time.Unix(0, last).UTC()
			if len(list) == 0 || list[len(list)-1].Skill != skill {
				list = append(list, state.SkillStats{Skill: skill})
			}
			of := &list[len(list)-1]
			of.Add(use.SkillUse)
			of.Clients = append(of.Clients, use)
		}
		return rows.Err()
	})
	return list, err
}
