package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Layer is one of the things that contain a program. Each holds by itself;
// together they leave no gap, see docs/security.md.
type Layer struct {
	// Name is one of the Layer constants, or a runner's own.
	Name string `json:"name"`
	// Active says whether it holds here.
	Active bool `json:"active"`
	// Detail is what it covers, or why it is missing.
	Detail string `json:"detail,omitempty"`
}

// The names of layers that more than one runner or system has.
const (
	LayerProcess  = "process"  // a process of its own that can be killed
	LayerMemory   = "memory"   // a limit on memory, by the kernel or by a watchdog
	LayerLimits   = "limits"   // resource limits, no inherited files, no new privileges
	LayerLandlock = "landlock" // no file can be opened, whatever its mode
	LayerSeccomp  = "seccomp"  // only a few system calls are possible
)

// A Layered runner can say what contains its programs. A runner that is not
// Layered contains nothing.
type Layered interface {
	// Layers returns the layers in the order in which they are set up, those
	// that are missing here among them. It may start what the next run would
	// start, and reports what Run would report if that fails, even if it is a
	// required layer that is missing. It is safe for concurrent use.
	Layers(ctx context.Context) ([]Layer, error)
}

// LayersOf returns the layers of r, which are none unless it is Layered.
func LayersOf(ctx context.Context, r Runner) ([]Layer, error) {
	if l, ok := r.(Layered); ok {
		return l.Layers(ctx)
	}
	return nil, nil
}

// A LayerError means that a layer that was required is not active: no program
// is run.
type LayerError struct {
	// Missing are the required layers that are not active, with the reason in
	// Detail.
	Missing []Layer
}

func (e *LayerError) Error() string {
	var names, why []string
	for _, l := range e.Missing {
		names = append(names, l.Name)
		why = append(why, l.Name+": "+l.Detail)
	}
	return fmt.Sprintf("the sandbox must have %s, and does not here (%s)", strings.Join(names, " and "), strings.Join(why, "; "))
}

// RequireLayers returns a *LayerError unless all that is required, by name, is
// active among layers.
func RequireLayers(layers []Layer, required []string) error {
	var missing []Layer
	for _, name := range required {
		i := slices.IndexFunc(layers, func(l Layer) bool { return l.Name == name })
		switch {
		case i < 0:
			missing = append(missing, Layer{Name: name, Detail: "this sandbox does not know it"})
		case !layers[i].Active:
			missing = append(missing, layers[i])
		}
	}
	if len(missing) > 0 {
		return &LayerError{missing}
	}
	return nil
}
