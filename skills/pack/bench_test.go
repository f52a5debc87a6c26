package pack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/skills/pack"
)

// BenchmarkInstall installs the largest skill that is taken, and refuses one
// that would unpack to more.
func BenchmarkInstall(b *testing.B) {
	full := []file{{"SKILL.md", text, 0}}
	for i := range 511 {
		full = append(full, file{fmt.Sprintf("references/%d/%d.md", i%20, i), strings.Repeat("0123456789abcde\n", 2000), 0})
	}
	for name, archive := range map[string][]byte{
		"512 files, 16 MB": zipOf(b, full...),
		"bomb":             zipOf(b, file{"SKILL.md", text, 0}, file{"zeros", strings.Repeat("\x00", 40<<20), 0}),
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			source := filepath.Join(dir, "x.zip")
			if err := os.WriteFile(source, archive, 0o600); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, err := pack.Install(filepath.Join(dir, "dest"), source, pack.Options{Force: true})
				if (err != nil) != (name == "bomb") {
					b.Fatal(err)
				}
			}
		})
	}
}
