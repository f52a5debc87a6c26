package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how often the memory of a process is looked at.
const watchEvery = 20 * time.Millisecond

// watchMemory calls over, once, when the process's own memory (what is
// resident and not shared with files) is above limit bytes. It returns then,
// or when ctx is done, or when the process is gone: the most bytes that it saw.
//
// It is second to the limit on writable memory that the child sets itself,
// which is hard but must leave room for what is reserved and never touched.
func watchMemory(ctx context.Context, pid int, limit int64, over func()) (peak int64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0 // gone, or no /proc here: the child's own limits remain
	}
	defer f.Close()
	page := int64(os.Getpagesize())
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return peak
		case <-tick.C:
		}
		var buf [128]byte
		n, _ := f.ReadAt(buf[:], 0)
		if n == 0 {
			return peak
		}
		if pages, ok := ownPages(buf[:n]); ok {
			peak = max(peak, pages*page)
		}
		if peak > limit {
			over()
			return peak
		}
	}
}

// ownPages reads the text of statm: resident pages less those of files and
// shared memory.
func ownPages(statm []byte) (int64, bool) {
	fields := bytes.Fields(statm)
	if len(fields) < 3 {
		return 0, false
	}
	resident, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	return resident - shared, err1 == nil && err2 == nil
}

// cpuTime returns the processor time that all threads of a process have used.
func cpuTime(pid int) (time.Duration, bool) {
	// The clock of a process has its id, inverted, and the number of the
	// scheduler's clock in the low bits.
	const schedulerClock = 2
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &ts)
	return time.Duration(ts.Nano()), err == nil
}
