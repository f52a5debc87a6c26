// Package launch starts the processes of MCP servers that speak over stdio, and ends
// them with all their descendants.
//
// A server gets its own environment, with a mark that identifies processes that leave
// its group. A guard, another process of this program, ends what a killed broker leaves
// running. Many servers are started by a package runner such as npx, which may install
// them first: the package recognizes incomplete installations.
package launch
