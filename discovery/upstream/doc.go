// Package upstream connects to the MCP servers that the broker stands in front
// of. A Pool holds one entry per configured server: it lists the server's
// tools, keeps that listing on disk so that the next start needs no server at
// all, starts a server when it is first called, stops it when it has been idle,
// and restarts it when it died. One slow or dead server costs nobody else
// anything: no lock is held over I/O, and every server has its own connection
// attempt, limits and back-off.
//
// # Raw results
//
// The MCP SDK does the protocol work (both protocol eras, sessions, progress,
// cancellation), but it decodes results into Go values and thereby loses what a
// broker must keep: the order of keys, integers beyond 2^53, content types that
// it does not know; and one tool with a bad annotation makes it refuse a whole
// list. So a tee sits under the SDK. A request that wants its result raw carries
// a capture in its context; when the response arrives, the tee gives the bytes to
// the capture and hands the SDK a small valid result in their place. Nothing
// that a server puts into a result can then fail the call, and a megabyte of text
// is scanned, not decoded. On stdio and SSE the tee works on messages, by request
// id; on Streamable HTTP, whose SDK connection cannot be wrapped without losing
// parts of it, it works on response bodies.
//
// # Eras
//
// Protocol 2026-07-28 begins with server/discover, older ones with initialize.
// A server whose era is not known yet is probed; one that stays silent is sent
// initialize after a few seconds in the same process (a slow start and a server
// that ignores unknown requests look alike, and both answer that), and one that
// exits or stays silent even then is started afresh without the probe. The era
// is remembered together with the listing.
package upstream
