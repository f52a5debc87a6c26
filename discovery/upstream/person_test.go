package upstream

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// reachAll reaches every server for everybody.
type reachAll struct{}

func (reachAll) Reach(context.Context, Config, *Person) (Access, error) { return Access{}, nil }
func (reachAll) Page(context.Context, Config, *Person) (Page, error)    { return Page{}, nil }
func (reachAll) Lister(Config) Access                                   { return Access{} }

// Processes of people are bounded for each server and for all of them together; one
// that nobody uses makes room.
func TestProcessesOfPeopleAreBounded(t *testing.T) {
	var configs []Config
	for i := range maxPersonalProcesses/maxInstances + 1 {
		configs = append(configs, Config{Name: fmt.Sprint(i), Command: "never-started", Credentials: OfUser})
	}
	p := NewPool(configs, &Options{People: reachAll{}})
	defer p.Close()
	enter := func(server, person int) (leave func(), err error) {
		ctx := WithPerson(t.Context(), &Person{Subject: fmt.Sprint(person)})
		_, leave, err = p.roster.Load().servers[server].instanceFor(ctx)
		return leave, err
	}
	var first, again func()
	for server := range maxPersonalProcesses / maxInstances {
		for person := range maxInstances {
			leave, err := enter(server, person)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = leave
			}
		}
		if _, err := enter(server, maxInstances); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("one more of a server: %v", err)
		}
		leave, err := enter(server, 0)
		if err != nil {
			t.Fatalf("one that is there: %v", err)
		}
		if again == nil {
			again = leave
		}
	}
	last := len(configs) - 1
	if _, err := enter(last, 0); err == nil || !strings.Contains(err.Error(), "processes of people are in use") {
		t.Errorf("one more of all: %v", err)
	}
	first()
	again() // nobody uses it now
	if _, err := enter(last, 0); err != nil {
		t.Errorf("when one is idle: %v", err)
	}
}
