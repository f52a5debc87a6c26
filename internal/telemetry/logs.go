package telemetry

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcpbroker/mcpbroker/state"
)

// A Log is a record of OTLP logs in JSON.
type Log struct {
	Time       string         `json:"timeUnixNano"`
	Severity   int            `json:"severityNumber"`
	Text       string         `json:"severityText"`
	Event      string         `json:"eventName"`
	Body       value          `json:"body"`
	Attributes []logAttribute `json:"attributes"`
}

type logAttribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// A value is a string or, as OTLP encodes it, an integer in quotes.
type value struct {
	String *string `json:"stringValue,omitempty"`
	Int    string  `json:"intValue,omitempty"`
}

func newLog(at time.Time, event, body string, failed bool) Log {
	l := Log{Time: strconv.FormatInt(at.UnixNano(), 10), Severity: 9, Text: "INFO", Event: event, Body: value{String: &body}}
	if failed {
		l.Severity, l.Text = 13, "WARN"
	}
	return l
}

// text adds an attribute unless it is empty.
func (l *Log) text(key, v string) {
	if v != "" {
		l.Attributes = append(l.Attributes, logAttribute{key, value{String: &v}})
	}
}

func (l *Log) number(key string, v int64) {
	l.Attributes = append(l.Attributes, logAttribute{key, value{Int: strconv.FormatInt(v, 10)}})
}

// ExecutionLog converts an execution of the audit record, without its code.
func ExecutionLog(e state.Execution) Log {
	l := newLog(e.Started, "broker.execution", "execution "+e.ID+" "+e.Status, e.ExitCode != 0)
	l.text(executionID, e.ID)
	l.text(client, e.Client)
	l.text(errorType, e.Error)
	l.number(exitCode, int64(e.ExitCode))
	l.number("broker.execution.duration_ms", e.Duration.Milliseconds())
	l.number("broker.execution.calls", int64(e.Calls))
	return l
}

// CallLog converts a call of the audit record, without arguments and result.
func CallLog(c state.Call) Log {
	l := newLog(c.Started, "broker.call", "call "+c.ID+" "+c.Status, c.Status != state.CallOK)
	l.text(executionID, c.ExecutionID)
	l.text(operationName, executeTool)
	l.text(upstream, c.Server)
	l.text(toolName, c.Tool)
	l.text(class, c.Class)
	l.text(decision, c.Decision)
	if c.Status != state.CallOK {
		l.text(errorType, c.Status)
	}
	l.number("broker.call.duration_ms", c.Duration.Milliseconds())
	return l
}

// EventLog converts an event of the audit record.
func EventLog(e state.Event) Log {
	l := newLog(e.Time, "broker.event", e.Kind+": "+e.Detail, e.Failed)
	l.text(eventKind, e.Kind)
	l.text(upstream, e.Server)
	l.text(subject, e.Name)
	l.text(client, e.Client)
	l.text("broker.event.digest", e.Digest)
	return l
}

// LogRequest returns a request with logs, as collectors accept it at /v1/logs and read it from
// files.
func LogRequest(version string, logs []Log) json.RawMessage {
	name := "broker"
	b, _ := json.Marshal(object{"resourceLogs": []object{{ // texts and numbers
		"resource":  object{"attributes": []logAttribute{{"service.name", value{String: &name}}, {"service.version", value{String: &version}}}},
		"scopeLogs": []object{{"scope": object{"name": scope, "version": version}, "logRecords": logs}},
	}}})
	return b
}

// scope is the name of the instrumentation.
const scope = "github.com/mcpbroker/mcpbroker"
