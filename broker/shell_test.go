package broker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/broker"
	"github.com/mcpbroker/mcpbroker/sandbox"
)

// A person who types commands gets commands as hints, and a model gets tools.
func TestHintsAreForTheReader(t *testing.T) {
	t.Parallel()
	b := newBroker(t, broker.Deps{}, broker.Settings{Servers: cookbookServers(t)})
	for _, tt := range []struct{ code, model, person string }{
		{`await callMCPTool('mail__send_email', {})`, "search_tools finds tools by what they do", "broker search WORDS finds tools by what they do"},
		{`await callMCPTool('crm', 'nothing_like_it', {})`, "search_tools finds tools by what they do", "broker search WORDS finds tools by what they do"},
		{`await callMCPTool('tracker__nothing_like_it', {})`, "search_tools finds tools by what they do", "broker search WORDS finds tools by what they do"},
		{`try { await callMCPTool('mail__x') } catch (e) { return e.hint }`, "search_tools", "broker search"},
	} {
		for _, shell := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			a := b.Execute(ctx, broker.ExecuteRequest{Code: tt.code, Shell: shell})
			cancel()
			want, not := tt.model, "broker "
			if shell {
				want, not = tt.person, "search_tools"
			}
			if got := a.Stderr + a.Hint + string(a.Result); !strings.Contains(got, want) || strings.Contains(got, not) {
				t.Errorf("%s, shell %t: %s, want %q", tt.code, shell, got, want)
			}
		}
	}
}

// A script that runs out of time names the flag that gives it more, but only to people
// who type commands.
func TestTimeoutsInTheShellNameTheFlag(t *testing.T) {
	b := newBroker(t, broker.Deps{}, broker.Settings{})
	for _, code := range []string{"for (;;) {}", "await new Promise((r) => setTimeout(r, 60_000))", "await files.wait({})"} {
		for _, shell := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, shell %v", code, shell), func(t *testing.T) {
				t.Parallel()
				a := b.Execute(t.Context(), broker.ExecuteRequest{Code: code, Timeout: 300 * time.Millisecond, Shell: shell})
				if a.ExitCode != sandbox.ExitTimeout || strings.Contains(fmt.Sprintf("%+v", a), "--timeout SECONDS") != shell {
					t.Errorf("%+v", a)
				}
			})
		}
	}
}
