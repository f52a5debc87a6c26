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
	first := CrashReason(text)
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

// CrashReason returns the line of a crash's text that says most: the first that
// says anything, but the last of a traceback of Python.
func CrashReason(text string) string {
	text = strings.TrimSpace(text)
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "Traceback ") {
		line = text[strings.LastIndexByte(text, '\n')+1:]
	}
	return Cut(strings.TrimSpace(line), 300)
}
