package worker

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// procs is how many threads of a child run Go code at one time when its program
// has run for oneThreadFor: one for the program, one for frames and the garbage
// collector. Before, it is one: threads that look for work and wake each other
// are a tenth of what a small program costs.
const (
	procs        = 2
	oneThreadFor = 20 * time.Millisecond
)

// startEnv is the environment that children start with. It is for the Go runtime.
var startEnv = []string{"GOMAXPROCS=1"}

// moreThreads ends the time of one thread.
func moreThreads() { runtime.GOMAXPROCS(min(runtime.NumCPU(), procs)) }

// tune sets the Go runtime up for one short program in memory bytes.
func tune(memory int64) {
	os.Clearenv()
	// Even if startEnv says so: a number that was set is not looked up again, in
	// files that are out of reach soon. The world stops only if it changes.
	runtime.GOMAXPROCS(1)
	// Most programs then end before the first collection; the memory limit
	// brings collections forward when it comes near.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memory - memory/8)
	// A stack that grows is copied into one of twice the size. Beyond this it
	// would run into the memory limit, with a less helpful message.
	debug.SetMaxStack(int(min(max(memory/4, 16<<20), 1<<30)))
}
