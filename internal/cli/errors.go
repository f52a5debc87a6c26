package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// Exit codes of the command line. exec has its own for what is wrong with the
// command itself, because a script may end with any of the others.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitServers   = 3
	ExitExecUsage = 64
)

// A ExitError ends the program with a code of its own. Its text may be empty
// when everything was said already.
type ExitError struct {
	Code   int
	Script bool // the code is that of a script, which has said why
	err    error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the cause, or nil.
func (e *ExitError) Unwrap() error { return e.err }

// Exit returns an error that ends the program with a code; err may be nil.
func Exit(code int, err error) error { return &ExitError{Code: code, err: err} }

// ExitScript returns an error that ends exec with the code of its script.
func ExitScript(code int) error { return &ExitError{Code: code, Script: true} }

// Usagef is Errorf for wrong usage: the error ends the program with ExitUsage.
func Usagef(format string, args ...any) error {
	clean(args)
	return Exit(ExitUsage, ownLines{fmt.Errorf(format, args...)})
}

// ownLines is an error of several lines that are all the broker's own.
type ownLines struct{ error }

func (e ownLines) Unwrap() error { return e.error }

// OwnLines returns an error whose line breaks are printed: none of its text is that of a
// server, a script or a file.
func OwnLines(err error) error { return ownLines{err} }

// oneLineError is an error as one line, whatever it says.
type oneLineError struct{ error }

func (e oneLineError) Error() string { return gate.Terminal(e.error.Error()) }
func (e oneLineError) Unwrap() error { return e.error }

// Errorf is fmt.Errorf for text of anybody, like Fprintf; its hint is a second line.
func Errorf(format string, args ...any) error {
	clean(args)
	return ownLines{fmt.Errorf(format, args...)}
}

// FprintError prints an error as ErrorLines, with a text before it. The commands in its
// hint repeat the flags of RepeatFlags. It prints nothing if the error has no text.
func FprintError(w io.Writer, before string, err error) {
	text := string(ErrorLines(err))
	if text == "" {
		return
	}
	// Text of others is one line, and so this line is the broker's.
	message, hint, found := strings.Cut(text, "\nhint: ")
	if found {
		hint = "\nhint: " + repeaterOf(w).add(hint)
	}
	Fprintln(w, Lines(before+message+hint))
}

// ErrorLines returns the text of an error, on one line unless OwnLines, Errorf or Usagef
// has made it.
func ErrorLines(err error) Lines {
	switch e := err.(type) {
	case *ExitError:
		if e.err == nil {
			return ""
		}
		return ErrorLines(e.err)
	case ownLines:
		return Lines(err.Error())
	}
	if c, ok := errors.AsType[*ExitError](err); ok && c.Error() == err.Error() { // wrapped by what passed it on
		return ErrorLines(c)
	}
	return Lines(gate.Terminal(err.Error()))
}
