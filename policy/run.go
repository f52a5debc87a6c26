package policy

import (
	"encoding/json"
	"slices"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A Run is what policies know of an execution. AddCall and AddRead fill it in.
type Run struct {
	// ID names the execution in the audit log; empty if it is not recorded.
	ID string
	// Calls is how many calls it made before this one, Writes how many of them
	// were of class write or destructive, Destructive how many were destructive.
	Calls, Writes, Destructive int
	// Made are the tools that it called.
	Made []Made
	// Read are the tools with results that it has seen.
	Read []Reading
}

// Made is how often a run has called a tool.
type Made struct {
	Tool  *discovery.Tool
	Calls int
}

// A Reading is a tool with a result that a run has seen.
type Reading struct {
	Tool *discovery.Tool
	// Values are the texts of its results, if a flow compares them.
	Values *Values
	// Earlier is of another run of the same principal: what it sent out then is not
	// sent again.
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

// AddRead notes that the run has seen a result of t, and its texts if values is
// set: those that are long enough, and the ones that personal has, however short.
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
		r.Read[i].Values.keep(folded([]byte(text)))
	}
}
