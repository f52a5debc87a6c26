package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// One kind of script without calls makes each processor pool an M/D/c queue, whose
// load is known.
func TestLoadIsArrivalsTimesDemand(t *testing.T) {
	d := Day{Executions: 1, Scripts: []Script{{}}}
	c := Costs{Execution: 10}
	f := Fleet{Brokers: 2, BrokerCores: 2, PostgresCores: 1, Places: 100}
	s := newSimulation(d, c, f, 1)
	s.open(200, 100) // 200/s of 10 ms on 4 processors
	o := s.result(100)
	if got := o.Used["brokers"]; math.Abs(got-0.5) > 0.03 {
		t.Errorf("processors are %.3f busy, want 0.5", got)
	}
	if o.Answered != o.Arrived || o.Refused != 0 {
		t.Errorf("%d of %d answered, %d refused", o.Answered, o.Arrived, o.Refused)
	}
	if o.P50 < 10 || o.P50 > 20 {
		t.Errorf("p50 = %.1f ms, want a little above 10", o.P50)
	}
}

func TestClosedLoopIsBoundByProcessorsOrByClients(t *testing.T) {
	d := Day{Scripts: []Script{{Calls: []Call{{Took: 100}}}}}
	c := Costs{Execution: 20}
	f := Fleet{Brokers: 1, BrokerCores: 2, OneHost: true, Places: 100}
	for clients, want := range map[int]float64{1: 1000.0 / 120, 4: 4000.0 / 120, 100: 100} {
		s := newSimulation(d, c, f, 1)
		s.loop(clients, 100)
		if got := s.result(100).Rate(); math.Abs(got/want-1) > 0.05 {
			t.Errorf("%d clients: %.1f/s, want %.1f", clients, got, want)
		}
	}
}

func TestPlacesBoundScriptsAndRefuse(t *testing.T) {
	d := Day{Executions: 1, Scripts: []Script{{Calls: []Call{{Took: 1000}}}}}
	f := Fleet{Brokers: 1, BrokerCores: 8, PostgresCores: 1, Places: 10}
	s := newSimulation(d, Costs{}, f, 1)
	s.open(50, 120)
	o := s.result(120)
	if o.MaxRunning != 10 || o.Refused == 0 {
		t.Errorf("%d scripts at once and %d refused with 10 places and 50 asked for", o.MaxRunning, o.Refused)
	}
	loads := sorted(Loads(d, Costs{}, f, 50))
	if loads[0].Name != "places for scripts" || math.Abs(loads[0].Load-5) > 0.01 {
		t.Errorf("fullest is %q with %.2f, want places with 5", loads[0].Name, loads[0].Load)
	}
}

func TestCommitsShareFlushes(t *testing.T) {
	s := newSimulation(Day{Scripts: []Script{{}}}, Costs{Flush: 10}, Fleet{Brokers: 1, BrokerCores: 1, PostgresCores: 1, Places: 1000}, 1)
	s.loop(100, 10)
	// The first flush has one commit, the next the 99 that came meanwhile, and so on.
	if got := s.result(10).Rate(); got < 4900 || got > 5100 {
		t.Errorf("100 clients that share flushes of 10 ms: %.0f/s, want 5,000", got)
	}
}

func TestDayOfARecord(t *testing.T) {
	record := `{"execution":{"started":"2026-11-01T09:10:00Z","status":"done"},"calls":[{"duration_ms":10,"class":"read"},{"duration_ms":20,"class":"write"}]}
{"execution":{"started":"2026-11-01T09:20:00Z","status":"failed"},"calls":[]}
{"execution":{"started":"2026-11-02T10:00:00Z","status":"refused"},"calls":[]}
{"calls":[{"duration_ms":5}]}
{"event":{}}
`
	d := DefaultDay()
	if err := d.read(strings.NewReader(record), false, true); err != nil {
		t.Fatal(err)
	}
	calls, writes, took, _ := d.calls()
	if d.Executions != 2 || d.Hours[9] != 1 || calls != 1 || writes != 0.5 || took != 15 {
		t.Errorf("%v executions, hours %v, %v calls, %v write, %v ms", d.Executions, d.Hours, calls, writes, took)
	}
	if err := d.read(strings.NewReader("{}\n"), false, false); err == nil || !strings.Contains(err.Error(), "no execution") {
		t.Errorf("a record without executions: %v", err)
	}
	if err := d.read(strings.NewReader("x\n"), false, false); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a broken record: %v", err)
	}
}

// The output is the same each time, and names what gives way.
func TestReport(t *testing.T) {
	show := func() string {
		var out, problems bytes.Buffer
		if err := run(t.Context(), []string{"--executions", "500", "--places", "1", "--scale", "1,100"}, &out, &problems); err != nil {
			t.Fatal(err, problems.String())
		}
		return out.String()
	}
	first := show()
	if first != show() {
		t.Error("two runs differ")
	}
	for _, want := range []string{"\n1 x: 500 executions a day", "\n100 x: 50000 executions a day", "bottleneck: places for scripts", "grown to", "\n  1 x    too full: nothing\n", "\n  100 x  too full: places for scripts (199 %)\n         enough: 3 brokers"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	for args, want := range map[string]string{"--scale x": "--scale", "--brokers 0": "at least one broker", "frob": `unknown argument "frob"`, "--log /nowhere": "no such file", "measure": "--broker and --state"} {
		var out, problems bytes.Buffer
		if err := run(t.Context(), strings.Fields(args), &out, &problems); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
