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

// Processes of people are bounded for all servers together; the one that was used
// least recently, of those that nobody uses, makes room.
func TestProcessesOfPeopleAreBounded(t *testing.T) {
	configs := []Config{{Name: "a", Command: "never-started", Credentials: OfUser}, {Name: "b", Command: "never-started", Credentials: OfUser}}
	for _, most := range []int{0, 3} {
		p := NewPool(configs, &Options{People: reachAll{}, PersonalProcesses: most})
		defer p.Close()
		enter := func(server, person int) (leave func(), err error) {
			ctx := WithPerson(t.Context(), &Person{Subject: fmt.Sprint(person)})
			_, leave, err = p.roster.Load().servers[server].instanceFor(ctx)
			return leave, err
		}
		must := func(server, person int) (leave func()) {
			t.Helper()
			leave, err := enter(server, person)
			if err != nil {
				t.Fatalf("person %d at server %d of %d: %v", person, server, most, err)
			}
			return leave
		}
		if most == 0 {
			most = 128
		}
		var leave []func()
		for person := range most {
			leave = append(leave, must(0, person))
		}
		for server := range configs {
			if _, err := enter(server, most); err == nil || !strings.Contains(err.Error(), fmt.Sprint(most, " processes of people are in use")) {
				t.Errorf("one more of server %d: %v", server, err)
			}
		}
		must(0, 0)() // which is there
		leave[1]()
		leave[0]()
		must(1, most) // in the place of the one that was left first
		if here := p.roster.Load().servers[0].instances.byKey; len(here) != most-1 || here[personalKey+(&Person{Subject: "1"}).Key()+"\x00"] != nil {
			t.Errorf("server 0 has %d instances", len(here))
		}
	}
}
