package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

// An Outcome is what a simulation has seen.
type Outcome struct {
	Arrived, Answered, Refused int
	Seconds                    float64 // simulated
	P50, P99                   float64 // of the answered, in ms
	MaxRunning                 int
	Used                       map[string]float64 // share of each kind of processor in use
}

// Rate is how many were answered in a second.
func (o Outcome) Rate() float64 { return float64(o.Answered) / o.Seconds }

// maxWaiting is how many scripts wait for a place before one is refused.
const maxWaiting = 1000

// quantum is how long a task has a processor before the next one gets it, in ms.
const quantum = 4

// A Simulation is a list of events in the order of their times, in ms.
type simulation struct {
	now    float64
	events events
	rng    *rand.Rand
	costs  Costs
	fleet  Fleet
	day    Day

	brokers, boxes []*processors
	db, clients    *processors
	disk           disk
	places         []place
	next           int
	running        int

	closed bool // a client sends its next request when it has an answer
	until  float64
	took   []float64
	out    Outcome
}

type event struct {
	at float64
	do func()
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return last
}

func (s *simulation) after(ms float64, do func()) { heap.Push(&s.events, event{s.now + ms, do}) }

// processors serve tasks in turns of a quantum.
type processors struct {
	sim   *simulation
	n     int
	busy  int
	queue []task
	used  float64 // ms
}

type task struct {
	left float64
	then func()
}

func (p *processors) use(ms float64, then func()) {
	if ms <= 0 {
		then()
		return
	}
	if p.busy < p.n {
		p.busy++
		p.turn(task{ms, then})
		return
	}
	p.queue = append(p.queue, task{ms, then})
}

func (p *processors) turn(t task) {
	d := min(t.left, quantum)
	p.used += d
	p.sim.after(d, func() {
		t.left -= d
		if t.left > 1e-9 {
			if len(p.queue) == 0 {
				p.turn(t)
				return
			}
			p.queue = append(p.queue, t)
		}
		if len(p.queue) == 0 {
			p.busy--
		} else {
			first := p.queue[0]
			p.queue = p.queue[1:]
			p.turn(first)
		}
		if t.left <= 1e-9 {
			t.then()
		}
	})
}

// A disk flushes for all that wait at once.
type disk struct {
	busy bool
	wait []func()
}

func (s *simulation) flush(then func()) {
	s.disk.wait = append(s.disk.wait, then)
	if !s.disk.busy {
		s.disk.busy = true
		s.startFlush()
	}
}

func (s *simulation) startFlush() {
	batch := s.disk.wait
	s.disk.wait = nil
	s.after(s.costs.Flush, func() {
		if len(s.disk.wait) > 0 {
			s.startFlush()
		} else {
			s.disk.busy = false
		}
		for _, then := range batch {
			then()
		}
	})
}

// A place is where scripts of one broker run.
type place struct {
	taken int
	wait  []func()
}

func newSimulation(d Day, c Costs, f Fleet, seed uint64) *simulation {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 1)), costs: c, fleet: f, day: d}
	group := func(n, cores int) (list []*processors) {
		for range n {
			list = append(list, &processors{sim: s, n: cores})
		}
		return list
	}
	s.places = make([]place, f.Brokers)
	if f.OneHost {
		host := &processors{sim: s, n: f.BrokerCores}
		s.db, s.clients = host, host
		for range f.Brokers {
			s.brokers, s.boxes = append(s.brokers, host), append(s.boxes, host)
		}
		return s
	}
	s.brokers = group(f.Brokers, f.BrokerCores)
	s.boxes = s.brokers
	if f.Sandboxes > 0 {
		s.boxes = group(f.Sandboxes, f.SandboxCores)
	}
	s.db = &processors{sim: s, n: f.PostgresCores}
	return s
}

// An execution goes through its steps by what is called when one is done.
type execution struct {
	s      *simulation
	script *Script
	broker int
	box    *processors
	began  float64
	call   int
}

func (s *simulation) arrive() {
	s.out.Arrived++
	s.next = (s.next + 1) % len(s.brokers)
	x := &execution{s: s, broker: s.next, began: s.now, script: &s.day.Scripts[s.rng.IntN(len(s.day.Scripts))]}
	if s.clients != nil {
		s.clients.use(s.costs.Client, x.request)
		return
	}
	x.request()
}

func (x *execution) request() {
	cost := x.s.costs.Request
	if !x.s.fleet.OneHost {
		cost += x.s.costs.Search * x.s.day.Searches
	}
	x.s.brokers[x.broker].use(cost, x.place)
}

func (x *execution) place() {
	p := &x.s.places[x.broker]
	if p.taken < x.s.fleet.places() {
		p.taken++
		x.start()
		return
	}
	if len(p.wait) >= maxWaiting {
		x.s.out.Refused++
		return
	}
	p.wait = append(p.wait, x.start)
}

func (x *execution) start() {
	s := x.s
	s.running++
	s.out.MaxRunning = max(s.out.MaxRunning, s.running)
	x.box = s.boxes[x.broker%len(s.boxes)]
	if s.fleet.Sandboxes > 0 { // the freer of two
		a, b := s.boxes[s.rng.IntN(len(s.boxes))], s.boxes[s.rng.IntN(len(s.boxes))]
		x.box = a
		if b.busy+len(b.queue) < a.busy+len(a.queue) {
			x.box = b
		}
	}
	s.after(s.costs.Wait, func() { x.box.use(s.costs.Execution+x.script.CPU, x.nextCall) })
}

func (x *execution) nextCall() {
	if x.call == len(x.script.Calls) {
		x.end()
		return
	}
	s, c := x.s, x.script.Calls[x.call]
	x.call++
	send := func() { s.after(c.Took, func() { x.box.use(s.costs.Call/2, x.nextCall) }) }
	s.brokers[x.broker].use(s.costs.Call/2, func() {
		if !c.Write {
			send()
			return
		}
		s.db.use(s.costs.Intent, func() { s.flush(send) })
	})
}

func (x *execution) end() {
	s := x.s
	s.running--
	p := &s.places[x.broker]
	if len(p.wait) > 0 {
		first := p.wait[0]
		p.wait = p.wait[1:]
		first()
	} else {
		p.taken--
	}
	s.db.use(s.costs.ExecutionRows+s.costs.CallRow*float64(len(x.script.Calls)), func() { s.flush(x.answer) })
}

func (x *execution) answer() {
	s := x.s
	s.out.Answered++
	s.took = append(s.took, s.now-x.began)
	if s.closed && s.now < s.until {
		s.arrive()
	}
}

// open sends perSecond executions, at random times, for so many seconds, and lets
// them end.
func (s *simulation) open(perSecond, seconds float64) {
	s.until = s.now + seconds*1000
	var next func()
	next = func() {
		if s.now >= s.until {
			return
		}
		s.arrive()
		s.after(s.rng.ExpFloat64()*1000/perSecond, next)
	}
	next()
	s.drain(s.until + 120_000)
}

// loop has n clients, each of which sends its next execution when it has the
// answer of the last, for so many seconds.
func (s *simulation) loop(n int, seconds float64) {
	s.closed, s.until = true, s.now+seconds*1000
	for range n {
		s.arrive()
	}
	s.drain(s.until)
}

// drain goes on until nothing is left, or until then.
func (s *simulation) drain(end float64) {
	for len(s.events) > 0 && s.events[0].at <= end {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
}

// result sums up what was seen within so many seconds.
func (s *simulation) result(seconds float64) Outcome {
	o := s.out
	o.Seconds = seconds
	slices.Sort(s.took)
	if n := len(s.took); n > 0 {
		o.P50, o.P99 = s.took[n/2], s.took[min(n-1, n*99/100)]
	}
	o.Used = make(map[string]float64)
	share := func(name string, list ...*processors) {
		var used, n float64
		for _, p := range list {
			used, n = used+p.used, n+float64(p.n)
		}
		o.Used[name] = used / 1000 / seconds / n
	}
	if s.fleet.OneHost {
		share("host", s.db)
		return o
	}
	share("brokers", s.brokers...)
	share("sandboxes", s.boxes...)
	share("database", s.db)
	return o
}
