package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// The form is that of the specification of OTLP: 64-bit numbers are texts, and the
// keys are in camelCase.
func TestLogsAreOTLP(t *testing.T) {
	at := time.Unix(1, 5)
	got := string(LogRequest("1.0", []Log{
		ExecutionLog(state.Execution{ID: "e_1", Client: "ci", Status: "done", Started: at, Code: "secret()"}),
		CallLog(state.Call{ExecutionID: "e_1", ID: "a__b", Server: "a", Tool: "b", Status: state.CallDenied, Decision: "deny rule", Started: at, Args: []byte(`"secret"`)}),
		EventLog(state.Event{Kind: state.EventLogin, Server: "a", Time: at, Detail: "signed in"}),
	}))
	for _, want := range []string{
		`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"broker"}}`,
		`"timeUnixNano":"1000000005","severityNumber":9,"severityText":"INFO","eventName":"broker.execution"`,
		`"severityNumber":13`, `{"key":"gen_ai.tool.name","value":{"stringValue":"b"}}`, `{"key":"error.type","value":{"stringValue":"denied"}}`,
		`{"key":"broker.policy.decision","value":{"stringValue":"deny rule"}}`, `{"key":"broker.execution.exit_code","value":{"intValue":"0"}}`,
		`"body":{"stringValue":"login: signed in"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("code or arguments are in it: %s", got)
	}
}
