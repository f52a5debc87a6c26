package sandboxtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// Turns starts many programs of some owners at once, with and without room for
// several at one time, on runners that new makes: all end right, never more run
// than may, and the owners take turns. It goes by counts and order, never by
// time. code is a program that returns the number that it is made for.
func Turns(t *testing.T, new func(*testing.T) sandbox.Runner, programs int, language sandbox.Language, code func(n int) string) {
	t.Run("owners take turns", func(t *testing.T) {
		w := &witness{Runner: start(t, new).Runner}
		// One owner has come first, with half of all. Each of the others waits
		// for one program of each other owner at a time, and not for them all.
		var owners []string
		for i := range programs {
			owner := "first"
			if i >= programs/2 {
				owner = "owner " + strconv.Itoa(i%4)
			}
			owners = append(owners, owner)
		}
		runAll(t, w, 1, owners, language, code)
		if want := inTurns(owners); !slices.Equal(w.order, want) {
			t.Errorf("programs ran in the order of owners\n%s, want\n%s", strings.Join(w.order, ", "), strings.Join(want, ", "))
		}
	})
	t.Run("several at one time", func(t *testing.T) {
		w := &witness{Runner: start(t, new).Runner}
		const places = 4
		owners := make([]string, programs)
		runAll(t, w, places, owners, language, code)
		if w.most != places {
			t.Errorf("%d programs ran at one time, want %d", w.most, places)
		}
	})
}

// inTurns is the order in which owners run who have come in that order, one
// program at a time: the first at once, the others by turns.
func inTurns(owners []string) []string {
	order, waiting := owners[:1:1], owners[1:]
	var turns []string
	left := map[string]int{}
	for _, o := range waiting {
		if left[o] == 0 {
			turns = append(turns, o)
		}
		left[o]++
	}
	for len(turns) > 0 {
		o := turns[0]
		order, turns = append(order, o), turns[1:]
		if left[o]--; left[o] > 0 {
			turns = append(turns, o)
		}
	}
	return order
}

// runAll starts a program for each of the owners, in this order, through a queue
// with so many places. None of them ends before all have come.
func runAll(t *testing.T, w *witness, places int, owners []string, language sandbox.Language, code func(n int) string) {
	q := sandbox.NewQueue(w, places)
	waiting := q.(interface{ Waiting() int }).Waiting
	come := make(chan struct{})
	var all sync.WaitGroup
	for i, owner := range owners {
		all.Go(func() {
			res, err := q.Run(t.Context(), sandbox.Request{
				Language: language, Code: code(i), Owner: owner, Limits: sandbox.Limits{Timeout: 5 * patience},
				Call: func(ctx context.Context, c sandbox.Call) (raw, error) {
					select {
					case <-come:
					case <-ctx.Done():
					}
					return c.Args, ctx.Err()
				},
			})
			if err != nil || res.ExitCode != 0 || string(res.Value) != strconv.Itoa(i) {
				t.Errorf("program %d of %q: %+v, %v", i, owner, res, err)
			}
		})
		eventually(t, func() bool { return w.entered()+waiting() == i+1 }, func() string {
			return fmt.Sprintf("%d programs run and %d wait of %d that have come", w.entered(), waiting(), i+1)
		})
	}
	close(come)
	all.Wait()
}

// A witness is a runner that notes in which order owners came to run, and how
// many at one time.
type witness struct {
	sandbox.Runner

	mu            sync.Mutex
	order         []string
	running, most int
}

// Run implements sandbox.Runner.
func (w *witness) Run(ctx context.Context, req sandbox.Request) (sandbox.Result, error) {
	w.mu.Lock()
	w.order = append(w.order, req.Owner)
	w.running++
	w.most = max(w.most, w.running)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.running--
		w.mu.Unlock()
	}()
	return w.Runner.Run(ctx, req)
}

func (w *witness) entered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.order)
}
