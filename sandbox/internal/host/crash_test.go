package host

import (
	"strings"
	"testing"
)

func TestCrashReason(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"\n \nfatal: x\nmore":    "fatal: x",
		strings.Repeat("x", 999): strings.Repeat("x", 300) + "…",
		"Traceback (most recent call last):\n  File \"broker/wire.py\", line 1, in <module>\nImportError: no module struct\n": "ImportError: no module struct",
	} {
		if got := CrashReason(in); got != want {
			t.Errorf("CrashReason(%.20q) = %q, want %q", in, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]Crash{
		"": CrashUnknown,
		"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation": CrashUnknown,
		"fatal error: all goroutines are asleep - deadlock!":                                                               CrashUnknown,
		"runtime: out of memory: cannot allocate 8000004096-byte block\nfatal error: out of memory":                        CrashMemory,
		"fatal error: runtime: cannot allocate memory":                                                                     CrashMemory,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort":                             CrashMemory,
		"SIGSEGV: segmentation violation\nPC=0x4375dd m=4 sigcode=1 addr=0x0":                                              CrashMemory,
		"runtime: goroutine stack exceeds 67108864-byte limit\nfatal error: stack overflow":                                CrashStack,
	} {
		if got := Classify(text); got != want {
			t.Errorf("Classify(%q) = %d, want %d", text, got, want)
		}
	}
}
