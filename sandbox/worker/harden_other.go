//go:build !linux

package worker

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// harden bounds the memory of this process where the system does not do it
// for us: the process watches itself. It cannot stop one allocation that is
// larger than the machine, which ends the process in another way.
func harden(memory int64) ([]sandbox.Layer, error) {
	go watchSelf(memory)
	why := "only Linux has it, this is " + runtime.GOOS
	return []sandbox.Layer{
		{Name: sandbox.LayerProcess, Active: true, Detail: "one for each run, without environment, killed after it"},
		{Name: sandbox.LayerMemory, Active: true, Detail: "the process watches itself; the system does not limit it"},
		{Name: sandbox.LayerLimits, Detail: "not set on " + runtime.GOOS},
		{Name: sandbox.LayerLandlock, Detail: why},
		{Name: sandbox.LayerSeccomp, Detail: why},
	}, nil
}

// watchSelf ends the process, with the text that the Go runtime has for it,
// when it holds more than memory bytes.
func watchSelf(memory int64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(samples)
		if held := samples[0].Value.Uint64() - samples[1].Value.Uint64(); held > uint64(memory) {
			fmt.Fprintln(os.Stderr, "fatal error: out of memory: the sandbox's limit is reached")
			os.Exit(2)
		}
	}
}

// closeInherited does nothing: what a host's own parent left open is not known.
func closeInherited() error { return nil }

// limitCPU does nothing: the host's clock is the only one.
func limitCPU(time.Duration) {}
