package top

import (
	"os"

	"golang.org/x/sys/windows"
)

// understandEscapes makes a console interpret escape sequences until restore is called.
func understandEscapes(out *os.File) (restore func()) {
	console := windows.Handle(out.Fd())
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil {
		return func() {}
	}
	_ = windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) // an old console shows them
	return func() { _ = windows.SetConsoleMode(console, mode) }
}
