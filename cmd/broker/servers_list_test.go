package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/broker/api"
)

// The cause of a failure is whole in a list: in its row for programs, below the table on
// terminals of any width.
func TestListsShowTheWholeCause(t *testing.T) {
	failed, cause := time.Now().Add(-2*time.Minute), "in env.NOTION_TOKEN, environment variable NOTION_TOKEN is not set: set it, or write a default, as in ${VAR:-text}, and try again"
	rows := []api.ServerRow{
		{ServerInfo: broker.ServerInfo{Name: "works", Status: "cached", Description: "Notes of the team"}},
		{ServerInfo: broker.ServerInfo{Name: "notion", Status: "failed", Error: cause}, FailedAt: &failed},
		{ServerInfo: broker.ServerInfo{Name: "new", Status: "idle"}},
	}
	for _, width := range []int{0, 40, 80, 200} {
		var notes []string
		for _, r := range rows {
			notes = append(notes, fmt.Sprint(serverNote(r, width)))
		}
		below := causesBelow(rows, width)
		for line := range strings.Lines(below) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: %d characters: %q", width, n, line)
			}
		}
		text := strings.Join(strings.Fields(strings.Join(notes, " ")+" "+below), " ")
		for _, want := range []string{"failed 2 min ago: " + cause, "not listed yet", "Notes of the team"} {
			if strings.Count(text, want) != 1 {
				t.Errorf("width %d: %q, want %q once", width, text, want)
			}
		}
		if (below == "") != (width == 0) {
			t.Errorf("width %d: below the table %q", width, below)
		}
	}
}
