//go:build !linux

package worker

import (
	"context"
	"time"
)

// watchMemory does nothing where a process's memory cannot be read cheaply:
// the child watches itself there, see harden.
func watchMemory(context.Context, int, int64, func()) (peak int64) { return 0 }

// cpuTime knows nothing of a process that still runs.
func cpuTime(int) (time.Duration, bool) { return 0, false }
