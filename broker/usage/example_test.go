package usage_test

import (
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/usage"
)

// A conversation searches, and calls one of the tools that were found.
func Example() {
	s := usage.New(nil)
	defer s.Close()
	me := usage.Who{Session: "1"}
	s.Searched(me, []string{"creat", "issu"}, []string{"github__create_issue", "jira__create_issue"})
	s.Called(me, []string{"jira__create_issue"})
	for s.Favor("", []string{"creat", "issu"}) == nil { // it is learned in the background
		time.Sleep(time.Millisecond)
	}
	fmt.Println(s.Favor("", []string{"creat", "issu"}))
	// Output: map[jira__create_issue:0.5]
}
