package repo_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/skills/repo"
)

func Example() {
	for _, text := range []string{"owner/skills", "https://github.com/owner/skills/tree/v1.2/skills/pdf", "http://example.com/x"} {
		source, _ := repo.Of(text)
		if err := source.Check(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s %q %q\n", source.URL, source.Ref, source.Folder)
		// repo.Fetch(ctx, source, dir, nil) copies the files of its commit into dir.
	}
	// Output:
	// https://github.com/owner/skills.git "" ""
	// https://github.com/owner/skills.git "v1.2" "skills/pdf"
	// "http://example.com/x" is not accepted: write https://host/path, user@host:path or file:///path
}
