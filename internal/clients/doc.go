// Package clients knows the files in which MCP clients keep their servers: it
// reads them for an import, and puts the broker into them and takes it out
// again.
package clients
