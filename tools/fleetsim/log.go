package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxScripts is how many executions of a record are kept as samples, and maxLine
// how long a line of it may be.
const (
	maxScripts = 200_000
	maxLine    = 64 << 20
)

// A line of broker audit export.
type line struct {
	Execution *struct {
		Started    time.Time `json:"started"`
		CPU        float64   `json:"cpu_ms"`
		Status     string    `json:"status"`
		DurationMS float64   `json:"duration_ms"`
	} `json:"execution"`
	Calls []struct {
		DurationMS float64 `json:"duration_ms"`
		Class      string  `json:"class"`
	} `json:"calls"`
}

// fromLog takes hours and scripts of a day from a record. Of the executions as many
// as there were on its busiest day are assumed, unless keep.
func (d *Day) fromLog(path string, keepExecutions, keepSearches bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.read(f, keepExecutions, keepSearches); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d.Source += " in " + path
	return nil
}

func (d *Day) read(r io.Reader, keepExecutions, keepSearches bool) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	var scripts []Script
	var hours [24]float64
	days := map[string]float64{}
	n := 0.0
	for number := 1; scan.Scan(); number++ {
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if l.Execution == nil || l.Execution.Status == "refused" || l.Execution.Status == "running" {
			continue
		}
		n++
		started := l.Execution.Started.UTC()
		hours[started.Hour()]++
		days[started.Format(time.DateOnly)]++
		if len(scripts) == maxScripts {
			continue
		}
		var s Script
		for _, c := range l.Calls {
			s.Calls = append(s.Calls, Call{Took: max(c.DurationMS, 0), Write: c.Class != "" && c.Class != "read"})
		}
		scripts = append(scripts, s)
	}
	if err := scan.Err(); err != nil {
		return err
	}
	if n == 0 {
		return errors.New("no execution has ended in this record: write it with broker audit export")
	}
	for h := range hours {
		d.Hours[h] = hours[h] / n
	}
	d.Scripts = scripts
	if !keepExecutions {
		d.Executions = 0
		for _, count := range days {
			d.Executions = max(d.Executions, count)
		}
	}
	if !keepSearches {
		d.Searches = 1.5
	}
	d.Source = fmt.Sprintf("with the calls and hours of %.0f executions of %d day(s)", n, len(days))
	if n < 1000 {
		d.Source += " (too few to say much about hours)"
	}
	return nil
}
