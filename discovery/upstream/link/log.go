package link

//lint:file-ignore SA1019 logging is deprecated since 2026-07-28, and servers use it still

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// onLog keeps what the server logs among its output, and passes it on to the
// caller of the calls under way if that is one.
func (s *Session) onLog(_ context.Context, req *mcp.LoggingMessageRequest) {
	text, ok := req.Params.Data.(string)
	if !ok {
		b, err := json.Marshal(req.Params.Data)
		if err != nil {
			return
		}
		text = string(b)
	}
	if req.Params.Logger != "" {
		text = req.Params.Logger + ": " + text
	}
	level := string(req.Params.Level)
	if !slices.Contains(logLevels, level) {
		level = logLevel
	}
	if s.advice.Stderr != nil {
		s.advice.Stderr.Add([]byte("[" + level + "] " + strings.ReplaceAll(text, "\n", " ")))
	}
	calls := s.calls.list()
	for _, c := range calls {
		if c.caller() != calls[0].caller() {
			return
		}
	}
	if len(calls) > 0 && calls[0].o.OnLog != nil && level != "debug" {
		calls[0].o.OnLog(level, s.Hide.In(gate.Clean(text)))
	}
}

// listenToLogs asks a server of the older protocols, once, for its log.
func (s *Session) listenToLogs(ctx context.Context) {
	init := s.mcp.InitializeResult()
	if s.Era == EraModern || init == nil || init.Capabilities == nil || init.Capabilities.Logging == nil {
		return
	}
	s.logging.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		// A server that does not support this sends no log messages. Its answer is
		// decoded behind guarded.
		_ = s.mcp.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: logLevel})
	})
}

// logLevel is the lowest level of the log messages to request. Messages with an
// unknown level count as this one.
const logLevel = "info"

// logLevels are the levels of MCP.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
