package policies

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/cli"
	toolpin "github.com/mcpbroker/mcpbroker/policy/pin"
	"github.com/mcpbroker/mcpbroker/policy/scan"
)

// ScanFile scans the definitions of tools in a file, or on stdin if its name is "-".
func ScanFile(stdin io.Reader, name string) (ScanResult, error) {
	data, err := readScanFile(stdin, name)
	if err != nil {
		return ScanResult{}, err
	}
	var f scanFile
	if err := json.Unmarshal(data, &f); err != nil {
		return ScanResult{}, cli.Usagef("%s: invalid JSON: %w\nhint: broker pins scan --help shows the format", name, err)
	}
	r, err := f.scan()
	if err != nil {
		return r, cli.Usagef("%s: %w", name, err)
	}
	return r, nil
}

// maxScanFile bounds the file that pins scan reads.
const maxScanFile = 64 << 20

// A scanFile holds definitions of tools to scan, and of tools before and after
// an update to compare.
type scanFile struct {
	Cases []struct {
		ID     string          `json:"id"`
		Server string          `json:"server"`
		Tool   json.RawMessage `json:"tool"`
		With   []struct {
			Server      string `json:"server"`
			Tool        string `json:"tool"`
			Description string `json:"description"`
		} `json:"with"`
	} `json:"cases"`
	Pairs []struct {
		ID     string          `json:"id"`
		Server string          `json:"server"`
		Before json.RawMessage `json:"before"`
		After  json.RawMessage `json:"after"`
	} `json:"pairs"`
}

// A scanned is what was found in one tool.
type scanned struct {
	ID       string         `json:"id"`
	Verdict  scan.Verdict   `json:"verdict"`
	Where    []string       `json:"where"`
	Findings []scan.Finding `json:"findings,omitempty"`
}

// A compared is how a tool differs from what it was.
type compared struct {
	ID      string               `json:"id"`
	State   toolpin.State        `json:"state"`
	Changes []toolpin.Difference `json:"changes,omitempty"`
}

// A ScanResult is what was found in a file of definitions.
type ScanResult struct {
	Cases []scanned  `json:"cases"`
	Pairs []compared `json:"pairs"`
}

func readScanFile(stdin io.Reader, name string) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxScanFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxScanFile {
		return nil, cli.Usagef("%s has more than %d MiB", name, maxScanFile>>20)
	}
	return data, nil
}

func (f *scanFile) scan() (ScanResult, error) {
	r := ScanResult{Cases: []scanned{}, Pairs: []compared{}}
	for _, c := range f.Cases {
		var others scan.Others
		for _, w := range c.With {
			others.Add(w.Server, w.Tool, w.Description)
		}
		report := scan.Tool(c.Server, c.Tool, &others)
		r.Cases = append(r.Cases, scanned{c.ID, report.Verdict, report.Where(), report.Findings})
	}
	for _, p := range f.Pairs {
		state, err := toolpin.Compare(p.Before, p.After)
		if err != nil {
			return r, fmt.Errorf("pair %q: %w", p.ID, err)
		}
		c := compared{ID: p.ID, State: state}
		if state == toolpin.Changed {
			if c.Changes, err = toolpin.Diff(p.Before, p.After); err != nil {
				return r, fmt.Errorf("pair %q: %w", p.ID, err)
			}
		}
		r.Pairs = append(r.Pairs, c)
	}
	return r, nil
}

// Print prints the verdicts, and what differs.
func (r ScanResult) Print(w io.Writer) error {
	for _, c := range r.Cases {
		cli.Fprintf(w, "%s: %s\n", c.ID, c.Verdict)
		for _, f := range c.Findings {
			cli.Fprintf(w, "  %s: %s (%s)\n", f.Where, f.Verdict, strings.Join(f.Kinds, ", "))
		}
	}
	for _, p := range r.Pairs {
		cli.Fprintf(w, "%s: %s\n", p.ID, string(p.State))
		for _, d := range p.Changes {
			cli.Fprintf(w, "  %s\n", d.Text)
		}
	}
	return nil
}
