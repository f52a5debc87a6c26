package worker

import (
	"context"
	"os"
)

// A Probe is something that a process has tried which contains itself as those
// of programs do: what a program could try that has taken its process over, by a
// flaw of the engine that runs it.
type Probe struct {
	// Name is what was tried.
	Name string `json:"name"`
	// Held says whether it did not succeed.
	Held bool `json:"held"`
	// How it ended: "failed", with the system's reason, or "killed" if the
	// process was ended for trying it, or "done".
	How string `json:"how"`
}

// ProbeAll starts processes that each try one forbidden action, and returns the
// outcomes. The actions are harmless even if they succeed. There are no probes on
// systems without protection; opts may be nil.
func ProbeAll(ctx context.Context, opts *Options) ([]Probe, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	return probeWith(ctx, o, argProbe)
}

// argProbe is the argument of children that probe.
const argProbe = "probe"

// probed makes a child that is to probe do so, and does not return then.
func probed() {
	if len(os.Args) == 5 && os.Args[2] == argProbe {
		probing(harden, os.Args[3], os.Args[4])
	}
}
