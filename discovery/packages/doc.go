// Package packages installs the packages of servers that npx and uvx would run, so that
// they start without these: as one process instead of three, and never from an
// incomplete installation.
//
// A package is installed into a temporary folder, which is then renamed. Parse decides
// which commands are plain enough for that; all others run unchanged.
package packages
