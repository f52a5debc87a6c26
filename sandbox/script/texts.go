package script

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Texts are what runtimes say of the ends of programs: goja uses them directly, Node through
// TextsJSON. {n}, {name} and {end} are filled in, see LateNote.
var Texts = struct {
	Stuck         string `json:"stuck"`
	Uncaught      string `json:"uncaught"`      // behind the text of the error
	AlsoUncaught  string `json:"alsoUncaught"`  // in front of its first line
	Unwritable    string `json:"unwritable"`    // in front of the reason
	PlainData     string `json:"plainData"`     // behind it
	NotAnError    string `json:"notAnError"`    // in front of the value
	Undescribable string `json:"undescribable"` // an error whose getters throw

	// Returned values that JSON cannot represent.
	Function string `json:"function"`
	Symbol   string `json:"symbol"`
	Date     string `json:"date"`
	Number   string `json:"number"` // behind it

	// Calls and timers that outlive the program.
	LateCall  late   `json:"lateCall"`
	LateCalls late   `json:"lateCalls"`
	Interval  string `json:"interval"`
	Timeout   string `json:"timeout"`
	Timeouts  string `json:"timeouts"`
}{
	Stuck: "the program never settles: it awaits a promise, and no call or timer is left that could resolve it" +
		"\nhint: look for a new Promise whose resolve is never called",
	Uncaught:      "\nhint: a promise was rejected and nobody caught it; await it, or add .catch",
	AlsoUncaught:  "another promise was rejected and nobody caught it: ",
	Unwritable:    "the returned value cannot be written as JSON: ",
	PlainData:     "\nhint: return plain data: strings, numbers, arrays and objects without cycles",
	NotAnError:    "a value that is not an Error was thrown: ",
	Undescribable: "an error was thrown that cannot be described: its own properties throw",

	Function: "a function was returned: call it",
	Symbol:   "a symbol was returned, which JSON does not have: return text",
	Date:     "an invalid date was returned, which is null in JSON",
	Number:   " was returned, which is null in JSON",

	LateCall: late{
		Note:      "call to {name} was still running when the script ended; it {end}",
		Cancelled: "was cancelled, but may have run",
		Ended:     "ended after that, and its answer was not used",
	},
	LateCalls: late{
		Note:      "{n} calls to {name} were still running when the script ended; they {end}",
		Cancelled: "were cancelled, but may have run",
		Ended:     "ended after that, and their answers were not used",
	},
	Interval: "a setInterval was still set when the script ended, and was cleared: clear it, or await a promise that it resolves",
	Timeout:  "{n} setTimeout was still set when the script ended, for after the time limit: what it does was not done",
	Timeouts: "{n} setTimeout were still set when the script ended, for after the time limit: what it does was not done",
}

type late struct {
	Note      string `json:"note"`
	Cancelled string `json:"cancelled"`
	Ended     string `json:"ended"`
}

// TextsJSON returns the texts for runtimes in other languages than Go.
func TextsJSON() string {
	text, err := json.Marshal(Texts)
	if err != nil {
		panic(err) // strings cannot fail
	}
	return string(text)
}

// LateNote describes n calls that were still running when their program ended, with the same
// end: "cancelled", "ended", or "failed: " and the error.
func LateNote(n int, name, end string) string {
	text := Texts.LateCall
	if n > 1 {
		text = Texts.LateCalls
	}
	switch end {
	case "cancelled":
		end = text.Cancelled
	case "ended":
		end = text.Ended
	}
	return strings.NewReplacer("{n}", strconv.Itoa(n), "{name}", name, "{end}", end).Replace(text.Note)
}

// TimerNotes describe timers of statements that did not finish.
func TimerNotes(intervals, timeouts int) (notes []string) {
	if intervals > 0 {
		notes = append(notes, Texts.Interval)
	}
	text := Texts.Timeout
	if timeouts > 1 {
		text = Texts.Timeouts
	}
	if timeouts > 0 {
		notes = append(notes, strings.Replace(text, "{n}", strconv.Itoa(timeouts), 1))
	}
	return notes
}
