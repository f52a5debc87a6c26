package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/index"
	"github.com/mcpbroker/mcpbroker/internal/config"
)

// A vectorBuild is what "broker index --build-vectors" is asked to do.
type vectorBuild struct {
	source, out string
	words       int
}

// buildVectors makes a table of word vectors and says how to use it.
func (a *app) buildVectors(v vectorBuild) error {
	if v.words < 1 {
		return usage("--words is %d: it must be at least 1", v.words)
	}
	beside, err := config.Find(a.configPath)
	if v.out == "" {
		if err != nil {
			return hinted("%w\nhint: --out FILE writes the table anywhere", err)
		}
		v.out = filepath.Join(filepath.Dir(beside), "vectors.bin")
	}
	f, err := os.Open(v.source)
	if err != nil {
		return usage("%w", err)
	}
	defer f.Close()
	table, err := index.BuildVectors(f, v.words, v.out)
	if err != nil {
		return fmt.Errorf("%s: %w", v.source, err)
	}
	info, err := os.Stat(v.out)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"file": v.out, "words": table.Len(), "dimensions": table.Dims(), "bytes": info.Size()})
	}
	name := v.out
	if beside != "" {
		if rel, err := filepath.Rel(cmp.Or(filepath.Dir(beside), "."), v.out); err == nil {
			name = filepath.ToSlash(rel)
		}
	}
	say(a.stdout, "%s: %d words of %d dimensions, %d bytes\n", v.out, table.Len(), table.Dims(), info.Size())
	say(a.stdout, "to use it, in the config: \"broker\": {\"search\": {\"vectors\": %q}}\n", name)
	return nil
}
