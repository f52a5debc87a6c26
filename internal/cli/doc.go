// Package cli is the terminal of the commands: it prints text of others so that nothing
// in it steers the terminal, lays out tables and help, shows progress, asks questions,
// says how servers stand, and reads times and arguments as people type them.
package cli
