package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/state"
)

// PrintVerification prints what a check of the chain has found.
func PrintVerification(w io.Writer, v state.Verification, anchors int) {
	for _, f := range v.Flaws {
		cli.Fprintf(w, "%d  %s: %s\n", f.N, f.Row, f.Why)
	}
	if v.OK() {
		cli.Fprintf(w, "%s agree with the chain, up to %d\n", cli.Count(v.Links, "row"), v.Head.N)
	}
	if v.Unhashed > 0 {
		cli.Fprintf(w, "%s from before the record had a chain: nothing is known about them\n", cli.Count(v.Unhashed, "row"))
	}
	if v.Base > 0 && v.Links > 0 {
		cli.Fprintf(w, "what was older was pruned: the chain begins after %d\n", v.Base)
	}
	if anchors == 0 {
		cli.Fprintln(w, "without anchors, rows that were cut off at the end, or a record written anew as a whole, are not seen")
	} else {
		cli.Fprintf(w, "%d of %s agree; %d are of rows that were pruned\n", v.Anchors, cli.Count(anchors, "anchor"), v.Older)
	}
}

// ReadAnchors reads one head a line.
func ReadAnchors(path string, required bool) ([]state.Head, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil, nil
	}
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	defer f.Close()
	var list []state.Head
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var h state.Head
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Hash == "" {
			return nil, cli.Usagef("%s:%d: this is not the head of a chain, such as {\"time\": …, \"n\": 5, \"hash\": …}", path, n)
		}
		list = append(list, h)
	}
	return list, lines.Err()
}
