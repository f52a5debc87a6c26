package typefiles

import (
	"github.com/mcpbroker/mcpbroker/internal/cli"
)

// Print prints what became of a folder of generated files.
func Print(t *cli.IO, r Report) error {
	if t.JSON {
		return t.PrintJSON(r)
	}
	for _, path := range r.Foreign {
		cli.Fprintf(t.Err, "%s was not written by broker types: left alone\n", path)
	}
	_, err := cli.Fprintf(t.Out, "%s: %s; %s written, %d removed, %d unchanged\n", r.Dir, cli.Count(r.Tools, "tool"), cli.Count(r.Written, "file"), r.Removed, r.Unchanged)
	return err
}
