package worker

import (
	"runtime"
	"runtime/debug"
)

// procs is how many threads of a child run Go code at one time: one for the
// program, one for frames and the garbage collector.
const procs = 2

// tune sets the Go runtime up for one short program in memory bytes.
func tune(memory int64) {
	// Even if the number stays: a number that was set is not looked up again,
	// in files that are out of reach soon. The world stops only if it changes.
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), procs))
	// Most programs then end before the first collection; the memory limit
	// brings collections forward when it comes near.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memory - memory/8)
	// A stack that grows is copied into one of twice the size. Beyond this it
	// would run into the memory limit, with a less helpful message.
	debug.SetMaxStack(int(min(max(memory/4, 16<<20), 1<<30)))
}
