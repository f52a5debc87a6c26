package script_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcpbroker/mcpbroker/skills/script"
)

func TestFindSaysWhatRunsAScript(t *testing.T) {
	for _, tt := range []struct{ name, text, want, about string }{
		{"a.py", "x = 1\n", "python3", ""},
		{"a.py", "# Does it.\n", "python3", "Does it."},
		{"a.py", "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\"\"\"Does it.\"\"\"\n", "python3", "Does it."},
		{"a.py", "#!/usr/bin/env -S python3 -u\n", "python3 -u", ""},
		{"a", "#!/bin/sh -e\n\n# Does it.\n# More.\n", "sh -e", "Does it."},
		{"a.sh", "#! /bin/bash\n", "bash", ""},
		{"a.sh", "#!/usr/bin/env\n", "sh", ""},
		{"a.sh", "#!", "sh", ""},
		{"a.ts", "// Does it.\n", "node --experimental-strip-types", "Does it."},
		{"a.js", "/** Does it. */\n", "node", "Does it."},
		{"a.PL", "print 1\n", "perl", ""},
		{"a.sh", "# " + strings.Repeat("x", 300) + "\n", "sh", strings.Repeat("x", 159) + "…"},
	} {
		s, err := script.Find(fstest.MapFS{"scripts/" + tt.name: {Data: []byte(tt.text)}}, "scripts/"+tt.name)
		if err != nil {
			t.Errorf("%s %q: %v", tt.name, tt.text, err)
			continue
		}
		if got := strings.Join(s.Program, " "); got != tt.want || s.About != tt.about {
			t.Errorf("%s %q: run by %q, about %q, want %q, %q", tt.name, tt.text, got, s.About, tt.want, tt.about)
		}
		if got, want := s.Argv("/d", []string{"a b"}), append(strings.Fields(tt.want), "/d/scripts/"+tt.name, "a b"); !slices.Equal(got, want) {
			t.Errorf("Argv is %q, want %q", got, want)
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add("scripts/a.sh", []byte("#!/usr/bin/env -S x\n# y\n"))
	f.Add("../a", []byte("#!"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		s, err := script.Find(fstest.MapFS{"scripts/a.sh": {Data: text}, "b": {Data: text, Mode: 0o755}}, name)
		if err == nil && (s.Path != "scripts/a.sh" && s.Path != "b" || s.Program == nil && !s.Executable) {
			t.Errorf("Find(%q) = %+v", name, s)
		}
	})
}
