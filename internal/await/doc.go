// Package await waits at a terminal for the servers that a command needs: it shows the
// progress, lets a key end the wait, and says what is missing.
package await
