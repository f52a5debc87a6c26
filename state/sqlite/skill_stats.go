package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// SkillUse counts what was done with a skill.
type SkillUse struct {
	// Activations, Reads and ToolCalls include those that failed, whose number is
	// Errors.
	Activations int       `json:"activations"`
	Reads       int       `json:"reads"`
	ToolCalls   int       `json:"tool_calls"`
	Errors      int       `json:"errors"`
	LastUse     time.Time `json:"last_use"`
}

func (u *SkillUse) add(o SkillUse) {
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

// SkillStats sums up the events about skills since then, by name of skill and
// of client; the zero time means everything. Installing a skill and switching
// it is no use of it.
func (s *Store) SkillStats(ctx context.Context, since time.Time) ([]SkillStats, error) {
	list := []SkillStats{}
	err := s.read(ctx, "sum up skills in", func(conn *sql.Conn, _ []int64) error {
		rows, err := conn.QueryContext(ctx, `SELECT name, client, sum(kind = ?), sum(kind = ?), sum(kind = ?), sum(failed), max(time) FROM events
			WHERE kind IN (?, ?, ?) AND name <> '' AND time >= ? GROUP BY name, client ORDER BY name, client`,
			EventSkillActivated, EventSkillFileRead, EventSkillToolCalled,
			EventSkillActivated, EventSkillFileRead, EventSkillToolCalled, unixNano(since))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var skill string
			var use ClientUse
			var last int64
			if err := rows.Scan(&skill, &use.Client, &use.Activations, &use.Reads, &use.ToolCalls, &use.Errors, &last); err != nil {
				return err
			}
			use.LastUse = time.Unix(0, last).UTC()
			if len(list) == 0 || list[len(list)-1].Skill != skill {
				list = append(list, SkillStats{Skill: skill})
			}
			of := &list[len(list)-1]
			of.add(use.SkillUse)
			of.Clients = append(of.Clients, use)
		}
		return rows.Err()
	})
	return list, err
}
