// Package upstream connects to the MCP servers behind the broker. A Pool has one entry
// for each configured server: it lists the server's tools, stores that listing on disk
// so that the next start needs no server, starts a server when it is first called,
// stops it when it is idle, and restarts it after a crash. A slow or failed server does
// not delay others: no lock is held during I/O, and every server has its own connection
// attempt, limits and back-off.
//
// Results are passed on unchanged: see package transport.
//
// # Eras
//
// Protocol 2026-07-28 begins with server/discover, older ones with initialize. A server
// with an unknown era is probed. If it stays silent, it is sent initialize after a few
// seconds in the same process: a slow start and a server that ignores unknown requests
// look alike, and both answer that. If it exits, or stays silent for its whole time, it
// is started once more without the probe. The era is stored together with the listing,
// or with the failure.
//
// # Failures
//
// A server that cannot be connected or listed is left alone for a time that grows after
// each failure. Pools that share a CacheDir, such as those of a user's commands and
// daemon, share their failures: see Pool.Learn.
package upstream
