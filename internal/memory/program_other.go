//go:build !linux

package memory

// ReleaseProgram does nothing: these systems do not count pages of a program's file as its memory.
func ReleaseProgram() {}
