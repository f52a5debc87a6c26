// Package link opens and holds one connection to an MCP server: it starts or dials the
// server, lists what it offers, sends it calls and answers what it asks meanwhile.
//
// A Dialer opens sessions to one server, and says why it could not. A Session knows
// nothing of other sessions, of what is stored, or of when to try again. This is the work of package upstream.
//
// # Eras
//
// Protocol 2026-07-28 begins with server/discover, older ones with initialize. A server
// with an unknown era is probed. If it stays silent, it is sent initialize after a few
// seconds in the same process: a slow start and a server that ignores unknown requests
// look alike, and both answer that. If it exits, or stays silent for its whole time, it
// is started once more without the probe. Dialer.Era is the era of the last session,
// which is worth storing for the next start.
package link
