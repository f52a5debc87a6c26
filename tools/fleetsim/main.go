// Fleetsim says how many brokers a day of executions needs, and what gives way
// first when there are ten and a hundred times as many.
//
//	go -C tools run ./fleetsim                           # a day of 1,000,000 executions, at 1, 10 and 100 times
//	go -C tools run ./fleetsim --log audit.jsonl         # executions and calls as a record has them (broker audit export)
//	go -C tools run ./fleetsim measure --broker PATH --state URL > costs.json
//	go -C tools run ./fleetsim --costs costs.json
//	go -C tools run ./fleetsim check --broker PATH --state URL
//
// It is a simulation of queues: processors of brokers, of sandboxes and of the
// database, the flushes of its log, and the places for scripts. What each step
// takes is measured (measure), what a day looks like comes from a record or is
// stated in its output. Check compares it with two real brokers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "fleetsim:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "measure":
			return measureCommand(ctx, args[1:], stdout, stderr)
		case "check":
			return checkCommand(ctx, args[1:], stdout, stderr)
		case "upstream":
			return upstream(os.Stdin, stdout)
		}
	}
	return simulateCommand(args, stdout, stderr)
}

func simulateCommand(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("fleetsim", flag.ContinueOnError)
	fs.SetOutput(stderr)
	day, fleet := DefaultDay(), DefaultFleet()
	logFile := fs.String("log", "", "take executions, calls and hours from this `file`, as broker audit export writes it")
	costsFile := fs.String("costs", "", "take unit costs from this `file`, as fleetsim measure writes it")
	scales := fs.String("scale", "1,10,100", "how many times the day, as a `list`")
	seed := fs.Uint64("seed", 1, "of the random numbers: the same seed gives the same output")
	fs.Float64Var(&day.Executions, "executions", day.Executions, "in the day; 0 with --log: as many as there were on its busiest day")
	fs.Float64Var(&day.Searches, "searches", day.Searches, "for each execution")
	fs.Float64Var(&day.People, "people", day.People, "who use the fleet")
	fs.Float64Var(&day.PeakShare, "active", day.PeakShare, "share of people who are active at the peak")
	fs.Float64Var(&day.OwnProcesses, "own-processes", day.OwnProcesses, "servers that run as processes of one person, for each active person")
	fs.Float64Var(&day.UpstreamLimit, "upstream-limit", day.UpstreamLimit, "calls an hour that an upstream takes of one person")
	fs.IntVar(&fleet.Brokers, "brokers", fleet.Brokers, "how many")
	fs.IntVar(&fleet.BrokerCores, "broker-cores", fleet.BrokerCores, "processors of each")
	fs.IntVar(&fleet.Places, "places", fleet.Places, "scripts that one broker runs at one time (its sandbox.maxExecutions); 0 is its default")
	fs.IntVar(&fleet.Sandboxes, "sandboxd", fleet.Sandboxes, "how many; 0 runs scripts beside their brokers")
	fs.IntVar(&fleet.SandboxCores, "sandboxd-cores", fleet.SandboxCores, "processors of each")
	fs.IntVar(&fleet.PostgresCores, "postgres-cores", fleet.PostgresCores, "processors of the database")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: fleetsim takes flags only, or measure or check first", fs.Arg(0))
	}
	costs := DefaultCosts()
	if *costsFile != "" {
		if err := readJSON(*costsFile, &costs); err != nil {
			return err
		}
	}
	if *logFile != "" {
		if err := day.fromLog(*logFile, flagSet(fs, "executions"), flagSet(fs, "searches")); err != nil {
			return err
		}
	}
	if err := errors.Join(costs.check(), fleet.check(), day.check()); err != nil {
		return err
	}
	var times []float64
	for text := range strings.SplitSeq(*scales, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || n <= 0 || n > 1e6 {
			return fmt.Errorf("--scale: %q is not a number above 0", text)
		}
		times = append(times, n)
	}
	report(stdout, day, costs, fleet, times, *seed)
	return nil
}

func flagSet(fs *flag.FlagSet, name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func readJSON(path string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(io.LimitReader(f, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
