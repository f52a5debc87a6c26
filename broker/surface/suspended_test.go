package surface

import (
	"strconv"
	"testing"
)

func TestScriptsOfOneClientThatWaitDoNotKeepOutOthers(t *testing.T) {
	p := &suspendedCalls{byState: make(map[string]*suspendedCall)}
	add := func(client string) {
		p.byState[client+strconv.Itoa(len(p.byState))] = &suspendedCall{client: client}
	}
	for !p.full("ann") {
		add("ann")
	}
	if n := len(p.byState); n != maxSuspended || p.full("bob") {
		t.Errorf("%d scripts of one client may wait, and another's may not beside them: %v", n, p.full("bob"))
	}
	for !p.full("bob") {
		add("bob")
	}
	if n := len(p.byState); n > maxSuspended*5/4 {
		t.Errorf("%d scripts may wait", n)
	}
}
