package telemetry

// Names of OpenTelemetry's semantic conventions for generative AI and MCP (schema gen-ai-dev
// 1.42.0). They are in development and still change: only this file contains them.
const (
	methodName      = "mcp.method.name"
	protocolVersion = "mcp.protocol.version"
	sessionID       = "mcp.session.id"
	toolName        = "gen_ai.tool.name"
	operationName   = "gen_ai.operation.name"
	requestID       = "jsonrpc.request.id"
	errorType       = "error.type"
	transport       = "network.transport"
	serverAddress   = "server.address"

	executeTool = "execute_tool" // the operation of a call of a tool
	toolError   = "tool_error"   // the error type of a result with isError

	clientDuration = "mcp.client.operation.duration"
	serverDuration = "mcp.server.operation.duration"
	clientSession  = "mcp.client.session.duration"
	serverSession  = "mcp.server.session.duration"
)

// Names of the broker itself.
const (
	executionID = "broker.execution.id"
	exitCode    = "broker.execution.exit_code"
	upstream    = "broker.server"
	class       = "broker.tool.class"
	decision    = "broker.policy.decision"
	client      = "broker.client"
	skill       = "broker.skill"
	skillScript = "broker.skill.script"
	eventKind   = "broker.event.kind"
	subject     = "broker.event.subject"
)
