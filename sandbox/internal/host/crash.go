package host

import "strings"

// CrashBytes is how much of a crash's text is worth keeping: its beginning says
// why.
const CrashBytes = 16 << 10

// A Crash is what the last words of a Go process tell.
type Crash int

// The kinds of crash.
const (
	CrashUnknown Crash = iota
	CrashMemory        // it ran out of memory
	CrashStack         // its stack overflowed
)

// Classify reads the text with which the Go runtime ended a process.
func Classify(text string) Crash {
	first := FirstLine(text)
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("stack overflow") || has("stack exceeds"):
		return CrashStack
	case has("out of memory") || has("cannot allocate memory") || has("failed to allocate"),
		strings.Contains(first, "pthread_create failed"),
		has("failed to create new OS thread"),
		// Not a panic, which says so: the runtime itself, which where it does
		// not check for an allocation that failed stumbles over it.
		strings.HasPrefix(first, "SIGSEGV"), strings.HasPrefix(first, "SIGABRT"), strings.HasPrefix(first, "unexpected fault address"):
		return CrashMemory
	}
	return CrashUnknown
}

// FirstLine returns the first line of s that says anything.
func FirstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return Cut(line, 300)
		}
	}
	return ""
}
