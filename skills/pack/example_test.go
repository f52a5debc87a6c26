package pack_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/skills/pack"
)

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "review")
	if err := os.Mkdir(source, 0o755); err != nil {
		panic(err)
	}
	text := "---\nname: review\ndescription: Reviews texts. Use before one is sent.\n---\nRead it.\n"
	if err := os.WriteFile(filepath.Join(source, "SKILL.md"), []byte(text), 0o644); err != nil {
		panic(err)
	}
	got, err := pack.Install(filepath.Join(dir, "installed"), source, pack.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(got.Name, got.Files)
	_, err = pack.Install(filepath.Join(dir, "installed"), source, pack.Options{})
	fmt.Println(err)
	// Output:
	// review [SKILL.md]
	// there is review already: --force replaces it
}
