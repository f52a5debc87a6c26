package main

import (
	"os"
)

// lookupVariable is os.LookupEnv without what a client has passed although it does not have
// it: its entry for the broker names a variable as "$NAME" or in a similar form, which
// stays as it is written, or for Gemini CLI becomes an empty text.
func lookupVariable(name string) (string, bool) {
	value, ok := os.LookupEnv(name)
	switch value {
	case "$" + name, "${" + name + "}", "${env:" + name + "}":
		return "", false
	case "":
		return "", ok && os.Getenv("GEMINI_CLI") != "1"
	}
	return value, ok
}
