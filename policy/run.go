package policy

import (
	"encoding/json"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A Run is the part of an execution that policies know. AddCall and AddRead fill it in.
type Run struct {
	// ID names the execution in the audit log; empty if it is not recorded.
	ID string
	// Calls is the number of calls before this one, Writes of those of class write or destructive,
	// and Destructive of the destructive ones.
	Calls, Writes, Destructive int
	// Made are the tools that the run called.
	Made []Made
	// Read are the tools whose results the run has seen.
	Read []Reading
}

// Made counts the calls of a tool.
type Made struct {
	Tool  *discovery.Tool
	Calls int
}

// A Reading is a tool whose result a run has seen.
type Reading struct {
	Tool *discovery.Tool
	// Values are the texts of its results, if a flow compares them.
	Values *Values
	// Earlier means that another run of the same principal read it: data that was sent out then is
	// not sent again.
	Earlier bool
}

// AddCall counts a call.
func (r *Run) AddCall(t *discovery.Tool, class Class) {
	r.Calls++
	if class >= Write {
		r.Writes++
	}
	if class == Destructive {
		r.Destructive++
	}
	i := slices.IndexFunc(r.Made, func(m Made) bool { return m.Tool.ID == t.ID })
	if i < 0 {
		i = len(r.Made)
		r.Made = append(r.Made, Made{Tool: t})
	}
	r.Made[i].Calls++
}

// AddRead records that the run has seen a result of t. If values is set, it also records the texts
// that are long enough, and those of personal regardless of length.
func (r *Run) AddRead(t *discovery.Tool, result json.RawMessage, values bool, personal ...string) {
	i := slices.IndexFunc(r.Read, func(r Reading) bool { return r.Tool.ID == t.ID })
	if i < 0 {
		i = len(r.Read)
		r.Read = append(r.Read, Reading{Tool: t})
	}
	if !values {
		return
	}
	if r.Read[i].Values == nil {
		r.Read[i].Values = &Values{}
	}
	r.Read[i].Values.AddJSON(result)
	for _, text := range personal {
		r.Read[i].Values.store(folded([]byte(text)))
	}
}
