package cli

import (
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/bridge"
)

// CallError is why a call failed, for a person: what to type next is a command.
func CallError(err error) error {
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok {
		return err
	}
	e = e.ForShell()
	code, hint, tool := ExitFailed, e.Hint, e.Server+"."+e.Tool
	switch e.Code {
	case bridge.CodeUnknownTool:
		code, hint = ExitUsage, "broker search WORDS finds tools by what they do"
	case bridge.CodeArguments:
		code, hint = ExitUsage, "broker tools show "+tool
	case bridge.CodeUnavailable:
		code = ExitServers
		if hint == "" {
			hint = "broker servers test " + e.Server
		}
	case bridge.CodeDenied:
		hint = ""
	case bridge.CodeRateLimited:
		hint = "try again later"
		if e.RetryAfterMS > 0 {
			hint = fmt.Sprintf("try again in %d s", (e.RetryAfterMS+999)/1000)
		}
	}
	text := e.Message
	if e.Code.OfServer() { // the message is the server's text
		text = tool + ": " + text
	}
	said := IndentAfter("  ", text)
	if hint != "" {
		said += "\nhint: " + IndentAfter("  ", hint)
	}
	return Exit(code, OwnLines(errors.New(string(said))))
}
