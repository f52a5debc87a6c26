// Package link opens and holds one connection to an MCP server: it starts or dials the
// server, lists what it offers, sends it calls and answers what it asks meanwhile.
//
// A Dialer opens sessions to one server, and says why it could not. A Session knows
// nothing of other sessions, of what is stored, or of when to try again.
package link
