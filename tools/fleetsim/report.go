package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// target is how full the busiest hour may make what can be added to.
const target = 0.7

// simulated is how many executions are simulated for one line at the most: of a day
// with more, each hour is simulated for a part of its time, at its full rate.
const simulated = 1_000_000

func report(w io.Writer, d Day, c Costs, f Fleet, scales []float64, seed uint64) {
	calls, writes, took, _ := d.calls()
	hour, share := d.Busiest()
	fmt.Fprintf(w, "A day of %s executions, %s.\n", count(d.Executions), d.Source)
	fmt.Fprintf(w, "Each makes %.1f calls (%.1f write), which take %.0f ms together, and comes with %.1f searches.\n", calls, writes, took, d.Searches)
	fmt.Fprintf(w, "The busiest hour is %02d:00-%02d:00 UTC, with %.0f %% of the day.\n", hour, (hour+1)%24, share*100)
	summary := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, n := range scales {
		day := d
		day.Executions *= n
		day.People *= n
		perSecond := day.Executions * share / 3600
		fmt.Fprintf(w, "\n%g x: %s executions a day, %.1f a second in the busiest hour\n", n, count(day.Executions), perSecond)
		loads := sorted(Loads(day, c, f, perSecond))
		fmt.Fprintf(w, "  load of %s:\n", f)
		table(w, loads)
		enough, short := f, tooFull(loads)
		if len(short) > 0 {
			fmt.Fprintf(w, "  bottleneck: %s (%s). What helps: %s.\n", loads[0].Name, loads[0].Needs, loads[0].Fix)
			enough = grow(day, c, f, perSecond)
			loads = sorted(Loads(day, c, enough, perSecond))
			fmt.Fprintf(w, "  grown to %s:\n    fullest then: %s, %.0f %% (%s)\n", enough, loads[0].Name, loads[0].Load*100, loads[0].Needs)
		} else {
			short = []string{"nothing"}
		}
		showDay(w, day, c, enough, seed)
		fmt.Fprintf(w, "    record %.1f GB a day, large results %.1f GB a day", day.Executions*(calls+1)*c.RowBytes/1e9, day.Executions*day.BigResults*day.BigResultKB/1e6)
		if d.OwnProcesses > 0 {
			fmt.Fprintf(w, ", processes of people %.1f GB of memory", day.People*day.PeakShare*d.OwnProcesses*c.ProcessMB/1024)
		}
		fmt.Fprintln(w)
		verdict := "enough: " + enough.String()
		if loads[0].Load > target {
			verdict = fmt.Sprintf("%s stays too full even with %s", loads[0].Name, enough)
		}
		fmt.Fprintf(summary, "  %g x\ttoo full: %s\n\t%s\n", n, strings.Join(short, ", "), verdict)
	}
	fmt.Fprintf(w, "\nSummary, where too full is more than %.0f %% in the busiest hour\n", target*100)
	_ = summary.Flush() // what is wrong with w shows elsewhere
}

// tooFull names the loads above target.
func tooFull(loads []Load) (names []string) {
	for _, l := range loads {
		if l.Load > target {
			names = append(names, fmt.Sprintf("%s (%.0f %%)", l.Name, l.Load*100))
		}
	}
	return names
}

// count writes a number of executions for people.
func count(n float64) string {
	if n >= 1e6 {
		return fmt.Sprintf("%.4g million", n/1e6)
	}
	return fmt.Sprintf("%.0f", n)
}

func (f Fleet) String() string {
	text := fmt.Sprintf("%d brokers of %d processors and %d places", f.Brokers, f.BrokerCores, f.places())
	if f.Sandboxes > 0 {
		text += fmt.Sprintf(", %d sandboxd of %d processors", f.Sandboxes, f.SandboxCores)
	}
	return text + fmt.Sprintf(", a database of %d", f.PostgresCores)
}

func sorted(loads []Load) []Load {
	slices.SortStableFunc(loads, func(a, b Load) int { return cmp.Compare(b.Load, a.Load) })
	return loads
}

func table(w io.Writer, loads []Load) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range loads {
		fmt.Fprintf(tw, "    %s\t%.0f %%\t%s\n", l.Name, l.Load*100, l.Needs)
	}
	_ = tw.Flush() // what is wrong with w shows elsewhere
}

// grow adds brokers, sandboxes and processors of the database until the busiest hour
// leaves room. One database has at most 64 processors.
func grow(d Day, c Costs, f Fleet, perSecond float64) Fleet {
	calls, writes, _, cpu := d.calls()
	need := func(ms float64, cores int) int {
		return int(math.Ceil(perSecond * ms / 1000 / target / float64(cores)))
	}
	front := c.Request + c.Search*d.Searches + c.Call*calls/2
	script := c.Execution + cpu + c.Call*calls/2
	if f.Sandboxes == 0 {
		f.Brokers = max(f.Brokers, need(front+script, f.BrokerCores))
	} else {
		f.Brokers = max(f.Brokers, need(front, f.BrokerCores))
		f.Sandboxes = max(f.Sandboxes, need(script, f.SandboxCores))
	}
	f.PostgresCores = min(64, max(f.PostgresCores, need(c.ExecutionRows+c.CallRow*calls+c.Intent*writes, 1)))
	for _, l := range Loads(d, c, f, perSecond) {
		if l.Name == "places for scripts" && l.Load > target {
			f.Places = int(math.Ceil(float64(f.places()) * l.Load / target))
		}
	}
	return f
}

// showDay simulates the hours of a day one after the other.
func showDay(w io.Writer, d Day, c Costs, f Fleet, seed uint64) {
	part := min(1, simulated/d.Executions)
	var all []float64
	var arrived, answered, refused, running int
	for h, share := range d.Hours {
		perSecond := d.Executions * share / 3600
		if perSecond*3600*part < 1 {
			continue
		}
		s := newSimulation(d, c, f, seed+uint64(h))
		s.open(perSecond, 3600*part)
		o := s.result(3600 * part)
		arrived, answered, refused, running = arrived+o.Arrived, answered+o.Answered, refused+o.Refused, max(running, o.MaxRunning)
		all = append(all, s.took...)
	}
	slices.Sort(all)
	if len(all) == 0 {
		fmt.Fprintln(w, "    simulated: no execution was answered")
		return
	}
	fmt.Fprintf(w, "    simulated %.2g of each hour: %d executions, %.2f %% answered, %d refused; p50 %.0f ms, p99 %.0f ms; at most %d scripts at once\n",
		part, arrived, 100*float64(answered)/float64(arrived), refused, all[len(all)/2], all[min(len(all)-1, len(all)*99/100)], running)
}
