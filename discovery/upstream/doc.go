// Package upstream connects to the MCP servers behind the broker. A Pool has one entry
// for each configured server: it lists the server's tools, stores that listing on disk
// so that the next start needs no server, starts a server when it is first called,
// stops it when it is idle, and restarts it after a crash. A slow or failed server does
// not delay others: no lock is held during I/O, and every server has its own connection
// attempt, limits and back-off.
//
// The Pool knows which servers there are, finds one by its name, and applies changes of
// the configuration. A server is one of them: an inventory of what it lists, which its
// instances have in common, and for each instance a lister, and a connection that opens a
// session when one is needed and tries again after a failure. Package link opens sessions
// and sends requests; package cache stores what is known of servers.
//
// Results are passed on unchanged: see package transport.
//
// # Failures
//
// A server that cannot be connected or listed is left alone for a time that grows after
// each failure. Pools that share a CacheDir, such as those of a user's commands and
// daemon, share their failures: see Pool.Learn.
package upstream
