// Package fakeupstream provides MCP servers for tests: one that behaves, made with the SDK, and
// others that misbehave like real servers, which write their frames by hand. They run as processes
// of their own in a re-executed test binary:
//
//	func TestMain(m *testing.M) {
//		fakeupstream.RunIfAsked()
//		os.Exit(m.Run())
//	}
//
// A test then starts Command(mode) with Args(mode).
package fakeupstream

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// flag is the first argument of a server process.
const flag = "fakeupstream"

// A Mode selects a server.
type Mode string

// The modes. All but the first four, and those that say otherwise, serve the tool "echo", whose
// result is one text block with its unchanged arguments.
const (
	Good          Mode = "good"           // made with the SDK: echo, add, fail, progress, wait, big
	Exits         Mode = "exits"          // exits immediately with status 3 and a line on stderr
	SilentInit    Mode = "silent-init"    // does not know the probe, then never answers initialize
	BadVersion    Mode = "bad-version"    // answers initialize with version 2099-01-01
	Legacy        Mode = "legacy"         // answers the probe with "method not found", as most do
	SilentProbe   Mode = "silent-probe"   // ignores requests that it does not know
	StuckProbe    Mode = "stuck-probe"    // answers nothing after the probe
	ExitsProbe    Mode = "exits-probe"    // ends when it is probed
	SilentList    Mode = "silent-list"    // never answers tools/list
	NoTools       Mode = "no-tools"       // does not know tools/list
	Banner        Mode = "banner"         // prints a banner and JSON logs on stdout, also between messages
	BOM           Mode = "bom"            // begins every line with a byte order mark
	BadAnnotation Mode = "bad-annotation" // has tools with wrong types in annotations and elsewhere
	OddSchemas    Mode = "odd-schemas"    // has tools without a proper input schema
	OddNames      Mode = "odd-names"      // has odd, duplicate, empty and missing names
	Hidden        Mode = "hidden"         // has invisible characters in its texts
	RepeatedPage  Mode = "repeated-page"  // lists the same page forever
	EndlessPages  Mode = "endless-pages"  // lists new pages forever
	Pages         Mode = "pages"          // lists three pages
	ManyTools     Mode = "many-tools"     // lists 5,000 tools
	BigResult     Mode = "big-result"     // "big" returns 20 MB of text
	Numbers       Mode = "numbers"        // "echo" returns big integers, unsorted keys, unknown content
	Dies          Mode = "dies"           // "die" ends the process
	Hangs         Mode = "hangs"          // "hang" never answers; "cancelled" lists what was cancelled
	StopsReading  Mode = "stops-reading"  // "stop" answers and then never reads stdin again
	IgnoresTerm   Mode = "ignores-term"   // ignores SIGTERM and the end of stdin
	Grandchild    Mode = "grandchild"     // leaves a child behind that ignores signals
	Daemon        Mode = "daemon"         // leaves a child behind in a session of its own
	Storm         Mode = "storm"          // "storm" announces 200 changes of its tools
	Asks          Mode = "asks"           // made with the SDK: its tools ask questions, see NewAsks
	AsksLegacy    Mode = "asks-legacy"    // the same in protocol 2025-11-25
	Stateful      Mode = "stateful"       // keeps state between calls, see NewStateful
	Leaks         Mode = "leaks"          // repeats FAKE_SECRET everywhere; "refuse" is a protocol error, "fail" a failed tool, "die" ends it
	SkillKit      Mode = "skill-kit"      // a built skill, see WriteSkillKit: start, advance, topic
	sleeper       Mode = "sleeper"        // the remaining process of Grandchild and Daemon
)

// Command returns the program to start for any mode: the running test binary.
func Command() string {
	path, err := os.Executable()
	if err != nil {
		panic(err) // a test binary knows its path
	}
	return path
}

// Args returns the arguments that make Command a server of the given mode.
func Args(mode Mode) []string { return []string{flag, string(mode)} }

// RunIfAsked runs a server, and never returns, if the process was started with Args.
func RunIfAsked() {
	if len(os.Args) < 3 || os.Args[1] != flag {
		return
	}
	mode := Mode(os.Args[2])
	var err error
	switch mode {
	case Good:
		err = runGood()
	case Stateful:
		err = runStateful()
	case Asks, AsksLegacy:
		err = runAsks(mode)
	case SkillKit:
		err = runSkillKit(os.Args[3:])
	case sleeper:
		runSleeper()
	default:
		err = runRaw(mode)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeupstream:", err)
		os.Exit(1)
	}
	syscall.Exit(0) // os.Exit sleeps for a second with the race detector, and brokers would wait for that
}

// block never returns. An empty select would count as a deadlock in a process with nothing else to
// do.
func block() {
	for {
		time.Sleep(time.Hour)
	}
}
