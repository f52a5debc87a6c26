// Package transport carries JSON-RPC between this program and its peers: over
// stdio, whose framing serves both ends, over Streamable HTTP and over SSE.
//
// The MCP SDK does the protocol work, but it decodes results into Go values and
// thereby loses what a broker must keep: the order of keys, integers beyond 2^53,
// content types that it does not know; and one tool with a bad annotation makes
// it refuse a whole list. So a tee sits under the SDK. A request that wants its
// result raw carries a Capture in its context; when the response arrives, the tee
// gives the bytes to the capture and hands the SDK a small valid result in their
// place. Nothing that a server puts into a result can then fail the call, and a
// megabyte of text is scanned, not decoded. On stdio and SSE the tee works on
// messages, by request id; on Streamable HTTP, whose SDK connection cannot be
// wrapped without losing parts of it, it works on response bodies.
//
// Whatever a peer sends is bounded, and what is not a message is reported instead
// of ending the connection.
package transport
