package surface

//lint:file-ignore SA1019 roots, sampling and logging are deprecated since 2026-07-28, and clients use them still

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// What a client says of itself is kept for as long as its session. These bound it.
const (
	// maxSaid is how many characters of a name or a version are kept.
	maxSaid = 200
	// maxMetaBytes bounds "_meta" of a message, which has tokens and identifiers.
	maxMetaBytes = 64 << 10
)

// logLevels are those that RFC 5424 has.
var logLevels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// bound bounds what would be kept of a request, or refuses it.
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

// boundInitialize leaves of p what the broker reads: the name of the client, and
// what it can be asked.
func boundInitialize(p *mcp.InitializeParams) {
	p.Meta = nil
	p.ProtocolVersion = said(p.ProtocolVersion)
	if info := p.ClientInfo; info != nil {
		p.ClientInfo = &mcp.Implementation{Name: said(info.Name), Title: said(info.Title), Version: said(info.Version)}
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

// said is a copy of the beginning of a text of a client: a part of the text itself
// would keep all of it.
func said(text string) string { return strings.Clone(gate.Cut(text, maxSaid)) }
