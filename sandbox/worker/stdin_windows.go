package worker

import "os"

// stdin is this process's input.
func stdin() *os.File { return os.Stdin }
