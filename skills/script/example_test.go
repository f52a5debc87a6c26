package script_test

import (
	"fmt"
	"testing/fstest"

	"github.com/mcpbroker/mcpbroker/skills/script"
)

func Example() {
	files := fstest.MapFS{"scripts/count.py": {Data: []byte("#!/usr/bin/env python3\n# Counts the words of a text.\n")}}
	s, err := script.Find(files, "scripts/count.py")
	if err != nil {
		panic(err)
	}
	fmt.Println(s.About, s.Argv("/skills/words", []string{"-l"}))
	_, err = script.Find(files, "scripts/cuont.py")
	fmt.Println(err)
	// Output:
	// Counts the words of a text. [python3 /skills/words/scripts/count.py -l]
	// script_not_found: there is no script "scripts/cuont.py": did you mean scripts/count.py?
}
