package skillcases

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A ScriptCase is the input of a case about scripts.
type ScriptCase struct {
	Skill    string
	Requests []ScriptRequest
}

// A ScriptRequest is one run of a script.
type ScriptRequest struct {
	Script    string
	Args      []string
	TimeoutMS int `json:"timeout_ms"`
	MaxOutput int `json:"max_output"`
}

// Timeout returns the time limit of the script, or 0.
func (r ScriptRequest) Timeout() time.Duration { return time.Duration(r.TimeoutMS) * time.Millisecond }

// A ScriptWant is the expected result of a case about scripts.
type ScriptWant struct{ Results []ScriptResult }

// A ScriptResult is the expected result of one run.
type ScriptResult struct {
	OK             bool
	ExitCode       *int `json:"exit_code"`
	Stdout         *string
	Stderr         *string
	Codes          []string
	StdoutPrefix   string `json:"stdout_prefix"`
	StdoutContains string `json:"stdout_contains"`
	StdoutMaxBytes int    `json:"stdout_max_bytes"`
}

// A ScriptGot is the result of one run.
type ScriptGot struct {
	OK             bool
	ExitCode       int
	Code           string // as this project writes it; empty if OK
	Stdout, Stderr string
}

// codes maps the names of errors in the cases to this module's.
var codes = map[string]string{
	"ScriptNotFound": "script_not_found", "ScriptNotAllowed": "script_not_allowed",
	"ExecutionTimeout": "execution_timeout", "ExecutionFailed": "execution_failed",
}

// Problem describes how a run differs from the expected result, or returns "".
func (w ScriptResult) Problem(got ScriptGot) string {
	known := slices.ContainsFunc(w.Codes, func(c string) bool { return codes[c] == got.Code })
	switch {
	case got.OK != w.OK || !w.OK && !known || w.OK && got.Code != "":
		return fmt.Sprintf("ok %v, code %q, want ok %v, codes %v", got.OK, got.Code, w.OK, w.Codes)
	case w.ExitCode != nil && got.ExitCode != *w.ExitCode:
		return fmt.Sprintf("exit code %d, want %d", got.ExitCode, *w.ExitCode)
	case w.Stdout != nil && got.Stdout != *w.Stdout:
		return fmt.Sprintf("stdout %q, want %q", got.Stdout, *w.Stdout)
	case w.Stderr != nil && got.Stderr != *w.Stderr:
		return fmt.Sprintf("stderr %q, want %q", got.Stderr, *w.Stderr)
	case !strings.HasPrefix(got.Stdout, w.StdoutPrefix) || !strings.Contains(got.Stdout, w.StdoutContains) || w.StdoutMaxBytes > 0 && len(got.Stdout) > w.StdoutMaxBytes:
		return fmt.Sprintf("%d bytes of stdout, %.60q", len(got.Stdout), got.Stdout)
	}
	return ""
}
