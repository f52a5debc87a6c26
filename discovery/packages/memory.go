package packages

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
)

// memoryPackage stores its data beside its program unless memoryVariable is set: a new
// version would start without data, and a repaired installation would lose it.
const (
	memoryPackage  = "@modelcontextprotocol/server-memory"
	memoryVariable = "MEMORY_FILE_PATH"
)

// withData is c with its data in the state directory, where that would be in the
// package. What npx's installations hold of it is taken over once.
func (s *Store) withData(ctx context.Context, c launch.Command, spec Spec) launch.Command {
	if spec.Runner != "npx" || spec.Name != memoryPackage {
		return c
	}
	for _, kv := range c.Env {
		if name, _, _ := strings.Cut(kv, "="); name == memoryVariable {
			return c
		}
	}
	file := filepath.Join(s.dir, "memory.jsonl")
	if !exists(file) {
		s.mu.Lock()
		defer s.mu.Unlock()
		data, from := newestMemory(launch.NPMCache(ctx, c))
		if err := atomicfile.WriteSync(file, data); err != nil {
			s.log.Warn("cannot keep the data of server-memory apart from its package", "err", err)
			return c
		}
		if from != "" {
			s.log.Info("copied the data of server-memory", "from", from, "to", file)
		}
	}
	c.Env = append(c.Env[:len(c.Env):len(c.Env)], memoryVariable+"="+file)
	return c
}

// newestMemory is what the installation holds that was written last.
func newestMemory(cache string) (data []byte, from string) {
	newest := time.Time{}
	for _, name := range []string{"memory.json", "memory.jsonl"} { // as versions before 2025.9 call it, and as later ones do
		paths, _ := filepath.Glob(filepath.Join(globQuote(cache), "_npx", "*", "node_modules*", filepath.FromSlash(memoryPackage), "dist", name)) // no error: the pattern is right
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !info.ModTime().After(newest) || info.Size() == 0 {
				continue
			}
			if b, err := os.ReadFile(path); err == nil {
				data, from, newest = b, path, info.ModTime()
			}
		}
	}
	return data, from
}
