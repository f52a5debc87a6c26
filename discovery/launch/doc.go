// Package launch starts the processes of MCP servers that speak over stdio, and
// ends them with all that they started.
//
// A server gets an environment of its own, and a mark in it, by which processes
// are found that leave its group. A guard, which is this program once more, ends
// what a killed broker leaves running. Many servers are started by a package
// runner such as npx, which may have to install them first: the package knows what
// half an installation looks like.
package launch
