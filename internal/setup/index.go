package setup

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/api"
	"github.com/mcpbroker/mcpbroker/discovery/upstream"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// PrintIndex prints what servers cost, and why some have no tools.
func PrintIndex(w io.Writer, r api.IndexReport) {
	_ = cli.NewTable("SERVER\tTOOLS\tTOKENS\tTOOK\t", func(row api.IndexRow) []any {
		note := ""
		switch {
		case row.Status == string(upstream.StateStarting):
			note = strings.TrimPrefix(row.Doing+", not waited for", ", ")
		case row.Error == string(upstream.StateNeedsSignIn) && row.Hint != "": // which says it all
			return []any{row.Name, row.Tools, row.Tokens, time.Duration(row.MS) * time.Millisecond, cli.Hint(gate.Terminal(row.Error + ": " + row.Hint))}
		case row.Error != "":
			note = cli.Failure(row.Status, cli.OneLine(row.Error, 160))
		case row.Status == api.StatusDisabled:
			note = "disabled: broker servers enable " + gate.Name(row.Name)
		case row.Held > 0:
			note = fmt.Sprintf("%d held back: broker pins diff %s", row.Held, gate.Name(row.Name))
		case len(row.Problems) > 0:
			note = fmt.Sprintf("%d repaired or left out: broker doctor", len(row.Problems))
		}
		return []any{row.Name, row.Tools, row.Tokens, time.Duration(row.MS) * time.Millisecond, note}
	}).Print(w, r.Servers)
	cli.Fprintf(w, "\n%s: %d tokens in every turn before, %d now", cli.Count(r.Tools, "tool"), r.TokensBefore, r.TokensAfter)
	if r.TokensBefore > r.TokensAfter {
		cli.Fprintf(w, " (%.1f %% less)", 100-100*float64(r.TokensAfter)/float64(r.TokensBefore))
	}
	cli.Fprintln(w)
	var failed []string
	for _, row := range r.Servers {
		if row.Error != "" && row.Status != string(upstream.StateStarting) {
			failed = append(failed, row.Name)
		}
	}
	if len(failed) > 0 {
		cli.Fprintf(w, "failed, and not counted: %s; broker doctor says more\n", strings.Join(failed, ", "))
	} else if r.TokensBefore < r.TokensAfter && r.Tools > 0 {
		cli.Fprintln(w, "that is more: with so few tools it is scripts that save tokens, not the search")
	}
}
