// Package packages installs the packages of servers that npx and uvx would run,
// so that they start without them: as one process instead of three, and from a
// folder that is whole whenever an installation was cut short.
//
// A package is installed into a temporary folder, which is renamed when it is
// whole. Parse says which commands are plain enough for that; all others run as
// they are written.
package packages
