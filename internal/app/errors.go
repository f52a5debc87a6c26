package app

import (
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/app/identity"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An Error is one that the user can do something about.
type Error struct {
	Err error
	// Hint says what to do; it may be empty.
	Hint string
	// Usage is set if the config or the command line is wrong.
	Usage bool
	// Lines is set if the text of Err may have several lines, all of them the broker's own.
	Lines bool
}

// Error returns the error, and on a second line the hint.
func (e *Error) Error() string {
	text := gate.Terminal(e.Err.Error())
	if e.Lines {
		text = gate.TerminalText(e.Err.Error())
	}
	if e.Hint != "" {
		text += "\nhint: " + gate.Terminal(e.Hint)
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns the error of a config or a command line that is wrong.
func Usagef(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint, Usage: true}
}

// Errorf returns an error with a hint, which may be empty.
func Errorf(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint}
}

// SettingError returns the error of a setting that cannot be followed as wrong usage.
func SettingError(err error) error {
	if wrong, ok := errors.AsType[*identity.Error](err); ok {
		return &Error{Err: wrong, Hint: wrong.Hint, Usage: true}
	}
	return err
}
