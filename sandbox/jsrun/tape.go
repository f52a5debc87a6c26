package jsrun

import (
	crand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A tape makes a run repeatable: it contains everything that the program observes of its
// environment except the answers to its calls. Without a journal it records nothing.
//
// Random numbers come from a seed. The clock is the real one; the tape records at which of its
// readings it had advanced. It also records the order of answers and timers, which decides what a
// program that waits for several does next.
type tape struct {
	journal *sandbox.Journal
	random  *rand.ChaCha8
	numbers *rand.Rand

	base     time.Time     // the start of this run
	offset   time.Duration // the offset of base from the epoch
	readings int64         // of the clock
	advances int           // how often the clock has advanced
	last     int64         // the last reading, in microseconds since the epoch

	calls int     // made by the program
	steps []int64 // since the last call: answered calls, and timers as negative numbers
	moves []int64 // since the last call: the number of a reading, and its value

	replay   *replay // nil if nothing is left to repeat
	diverged string  // the reason the program was ended
	withheld time.Time
}

// maxMoves bounds the advances of the clock that are recorded in one run. After that it advances
// every thousand readings, which needs no record.
const maxMoves = 10_000

// insert makes a run repeatable that starts now.
func (t *tape) insert(j *sandbox.Journal, now time.Time) {
	if j == nil {
		return
	}
	t.journal, t.base = j, now
	t.offset = max(now.Sub(time.UnixMicro(j.Epoch)), 0)
	var seed [32]byte
	copy(seed[:], j.Seed)
	t.random = rand.NewChaCha8(seed)
	t.numbers = rand.New(t.random)
	if len(j.Calls) > 0 {
		t.replay = newReplay(j)
	}
}

// now returns the time for Date.
func (t *tape) now() time.Time {
	if t.journal == nil {
		return time.Now()
	}
	return time.UnixMicro(t.journal.Epoch + t.read(time.Millisecond))
}

// since returns the time since start, or since the epoch, for performance.
func (t *tape) since(start time.Time) time.Duration {
	if t.journal == nil {
		return time.Since(start)
	}
	return time.Duration(t.read(time.Microsecond)) * time.Microsecond
}

// origin returns the time from which since counts.
func (t *tape) origin(start time.Time) time.Time {
	if t.journal == nil {
		return start
	}
	return time.UnixMicro(t.journal.Epoch)
}

// read reads the clock, in microseconds since the epoch.
func (t *tape) read(unit time.Duration) int64 {
	t.readings++
	switch p := t.replay; {
	case t.advances >= maxMoves:
		if t.readings%1000 == 0 {
			t.last += 1000
		}
	case p != nil:
		if len(p.moves) > 0 && p.moves[0] <= t.readings {
			t.move(p.moves[1])
			p.moves = p.moves[2:]
		}
	default:
		show := time.UnixMicro(t.journal.Epoch).Add(t.offset+time.Since(t.base)).Truncate(unit).UnixMicro() - t.journal.Epoch
		if show > t.last {
			t.move(show)
		}
	}
	return t.last
}

func (t *tape) move(show int64) {
	t.advances++
	t.last = show
	t.moves = append(t.moves, t.readings, show)
}

func (t *tape) float() float64 {
	if t.journal == nil {
		return rand.Float64()
	}
	return t.numbers.Float64()
}

// fill fills b with random bytes.
func (t *tape) fill(b []byte) {
	if t.journal == nil {
		_, _ = crand.Read(b) // never fails
		return
	}
	_, _ = t.random.Read(b) // never fails
}

// step records an answer or a timer.
func (t *tape) step(id int64) {
	if t.journal != nil {
		t.steps = append(t.steps, id)
	}
}

// takeRecord returns and clears the record since its last call.
func (t *tape) takeRecord() []byte {
	if len(t.steps)+len(t.moves) == 0 {
		return nil
	}
	b := binary.AppendUvarint(make([]byte, 0, 1+2*len(t.steps)+6*len(t.moves)), uint64(len(t.steps)))
	for _, n := range t.steps {
		b = binary.AppendVarint(b, n)
	}
	for _, n := range t.moves {
		b = binary.AppendVarint(b, n)
	}
	t.steps, t.moves = t.steps[:0], t.moves[:0]
	return b
}

// readSteps is the inverse of written.
func readSteps(b []byte) (steps, moves []int64) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil
	}
	for b = b[size:]; len(b) > 0; b = b[size:] {
		var v int64
		if v, size = binary.Varint(b); size <= 0 {
			break
		}
		if uint64(len(steps)) < n {
			steps = append(steps, v)
		} else {
			moves = append(moves, v)
		}
	}
	return steps, moves[:len(moves)/2*2]
}
