// Package transport carries JSON-RPC between this program and its peers: over stdio,
// with the same framing at both ends, over Streamable HTTP and over SSE.
//
// The MCP SDK does the protocol work, but it decodes results into Go values and thereby
// loses what a broker must keep: the order of keys, integers beyond 2^53, and unknown
// content types; and one tool with a bad annotation makes it refuse a whole list. So a
// tee sits below the SDK. A request that wants its raw result has a Capture in its
// context; when the response arrives, the tee gives the bytes to the capture and passes
// a small valid result to the SDK instead. So nothing in a result can fail the call,
// and a megabyte of text is scanned, not decoded. On stdio and SSE the tee works on
// messages, by request id. On Streamable HTTP, where wrapping the SDK's connection
// would lose parts of it, it works on response bodies.
//
// All input from a peer is bounded, and invalid messages are reported instead of ending
// the connection.
package transport
