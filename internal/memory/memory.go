// Package memory returns memory that a process at rest does not need to the operating system.
package memory

import "runtime/debug"

// Release returns the free memory of the heap, and on Linux the pages of the program's file that
// are mapped: most were only used by the start, and a page that is used again is mapped from the
// page cache in about a microsecond. It is safe for concurrent use.
func Release() {
	debug.FreeOSMemory()
	ReleaseProgram()
}
