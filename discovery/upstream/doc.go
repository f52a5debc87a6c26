// Package upstream connects to the MCP servers behind the broker. A Pool holds one entry per configured server: it lists the server's
// tools, keeps that listing on disk so that the next start needs no server at
// all, starts a server when it is first called, stops it when it has been idle,
// and restarts it when it died. One slow or dead server costs nobody else
// anything: no lock is held over I/O, and every server has its own connection
// attempt, limits and back-off.
//
// Results are passed on as the server sent them: see package transport.
//
// # Eras
//
// Protocol 2026-07-28 begins with server/discover, older ones with initialize.
// A server whose era is not known yet is probed; one that stays silent is sent
// initialize after a few seconds in the same process (a slow start and a server
// that ignores unknown requests look alike, and both answer that), and one that
// exits, or stays silent even then for all of its time, is started afresh without the
// probe, once. The era is remembered together with the listing, or with the failure.
//
// # Failures
//
// A server that cannot be connected or listed is left alone for a while, which is longer
// after each failure. Pools that share a CacheDir, such as those of the commands of a
// user and of a daemon, know of each other's failures: see Pool.Learn.
package upstream
