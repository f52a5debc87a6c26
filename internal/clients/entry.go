package clients

import (
	"time"

	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A Launch is the command with which a client starts the broker.
type Launch struct {
	// Command is the absolute path of the program, Args are its arguments.
	Command string
	Args    []string
	// CallTimeout is the client's time limit for an answer. Zero means 130 s, which exceeds the
	// broker's limit for a script.
	CallTimeout time.Duration

	// variables are the variables that servers.json names, sorted.
	variables []string
}

// startTimeout is far longer than the broker needs, since a cold disk may be slow.
const startTimeout = 30 * time.Second

func (l Launch) callTimeout() time.Duration {
	if l.CallTimeout <= 0 {
		return 130 * time.Second
	}
	return l.CallTimeout
}

type entryFields = config.Object

func plainEntry(l Launch) entryFields {
	return entryFields{{Key: "command", Value: l.Command}, {Key: "args", Value: l.Args}}
}

func typedEntry(l Launch) entryFields {
	return append(entryFields{{Key: "type", Value: "stdio"}}, plainEntry(l)...)
}

// claudeCodeEntry keeps the client's own tool search from hiding the broker's tools.
func claudeCodeEntry(l Launch) entryFields {
	return append(typedEntry(l), config.Field{Key: "alwaysLoad", Value: true})
}

// codexEntry names the variables that Codex must pass on: it starts servers with few.
func codexEntry(l Launch) entryFields {
	fields := append(plainEntry(l),
		config.Field{Key: "startup_timeout_sec", Value: int(startTimeout.Seconds())},
		config.Field{Key: "tool_timeout_sec", Value: int(l.callTimeout().Seconds())})
	if len(l.variables) > 0 {
		fields = append(fields, config.Field{Key: "env_vars", Value: l.variables})
	}
	return fields
}

// geminiEntry names the variables that Gemini CLI must pass on: it omits those with names or
// values that look like secrets. It passes an unset one as an empty string, or in early versions
// as "$NAME"; the broker treats both as unset.
func geminiEntry(l Launch) entryFields {
	fields := append(plainEntry(l), config.Field{Key: "timeout", Value: int(l.callTimeout().Milliseconds())})
	return append(fields, l.env("$", "")...)
}

// editorEntry names the variables that Cursor and Windsurf replace in the entry. They do
// not document which ones they pass on by themselves.
func editorEntry(l Launch) entryFields {
	return append(plainEntry(l), l.env("${env:", "}")...)
}

// env returns a field that sets each variable to a reference to it, which the client
// replaces. It returns nothing if there are no variables.
func (l Launch) env(before, after string) entryFields {
	if len(l.variables) == 0 {
		return nil
	}
	env := config.Object{}
	for _, name := range l.variables {
		env = append(env, config.Field{Key: name, Value: before + name + after})
	}
	return entryFields{{Key: "env", Value: env}}
}

func zedEntry(l Launch) entryFields {
	return append(plainEntry(l), config.Field{Key: "env", Value: config.Object{}})
}

// opencodeEntry has the timeout for listing tools; calls have none there.
func opencodeEntry(l Launch) entryFields {
	return entryFields{
		{Key: "type", Value: "local"},
		{Key: "command", Value: append([]string{l.Command}, l.Args...)},
		{Key: "enabled", Value: true},
		{Key: "timeout", Value: int(startTimeout.Milliseconds())},
	}
}
