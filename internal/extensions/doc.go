// Package extensions shows skills and plugins on a terminal, and what a person approves
// of them.
package extensions
