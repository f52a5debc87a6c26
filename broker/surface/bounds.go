package surface

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and clients still use them

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// The broker stores a client's description of itself for the length of its session.
// These constants bound it.
const (
	// maxSaid bounds a stored name or version, in characters.
	maxSaid = 200
	// maxMetaBytes bounds the "_meta" of a message, which contains tokens and
	// identifiers.
	maxMetaBytes = 64 << 10
)

// logLevels are the levels of RFC 5424.
var logLevels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// bound cuts the stored parts of a request, or refuses it.
func bound(req mcp.Request) error {
	switch p := req.GetParams().(type) {
	case *mcp.InitializeParams:
		if p != nil {
			boundInitialize(p)
		}
	case *mcp.SetLoggingLevelParams:
		if p != nil && !slices.Contains(logLevels, p.Level) {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("logging/setLevel: %q is not a level: use one of %s",
				gate.Cut(string(p.Level), 40), strings.Trim(fmt.Sprint(logLevels), "[]"))}
		}
	}
	return nil
}

// boundInitialize removes everything from p that the broker does not read; it keeps the
// client's name and its capabilities.
func boundInitialize(p *mcp.InitializeParams) {
	p.Meta = nil
	p.ProtocolVersion = cloneStart(p.ProtocolVersion)
	if info := p.ClientInfo; info != nil {
		p.ClientInfo = &mcp.Implementation{Name: cloneStart(info.Name), Title: cloneStart(info.Title), Version: cloneStart(info.Version)}
	}
	can := p.Capabilities
	if can == nil {
		return
	}
	kept := &mcp.ClientCapabilities{RootsV2: can.RootsV2}
	if can.RootsV2 != nil {
		kept.Roots = *can.RootsV2
	}
	if e := can.Elicitation; e != nil {
		kept.Elicitation = &mcp.ElicitationCapabilities{}
		if e.Form != nil {
			kept.Elicitation.Form = &mcp.FormElicitationCapabilities{}
		}
		if e.URL != nil {
			kept.Elicitation.URL = &mcp.URLElicitationCapabilities{}
		}
	}
	if s := can.Sampling; s != nil {
		kept.Sampling = &mcp.SamplingCapabilities{}
		if s.Context != nil {
			kept.Sampling.Context = &mcp.SamplingContextCapabilities{}
		}
		if s.Tools != nil {
			kept.Sampling.Tools = &mcp.SamplingToolsCapabilities{}
		}
	}
	p.Capabilities = kept
}

// cloneStart returns a copy of the beginning of a client's text. A substring would keep the
// whole text in memory.
func cloneStart(text string) string { return strings.Clone(gate.Cut(text, maxSaid)) }
