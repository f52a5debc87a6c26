package library_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	source, custom := filepath.Join(dir, "review"), filepath.Join(dir, "custom")
	if err := os.Mkdir(source, 0o755); err != nil {
		panic(err)
	}
	text := "---\nname: review\ndescription: Reviews texts. Use before one is sent.\n---\nRead it.\n"
	if err := os.WriteFile(filepath.Join(source, "SKILL.md"), []byte(text), 0o644); err != nil {
		panic(err)
	}
	switches := filepath.Join(dir, "servers.state.json")
	l := library.New(library.Options{
		Skills: skills.NewRegistry(&skills.Options{
			Roots: func() ([]skills.Root, []skills.Problem) {
				return []skills.Root{{Path: custom, Scope: skills.ScopeCustom}}, nil
			},
			Switches: skills.SwitchFile(switches),
		}),
		Custom: custom, Switches: skills.SwitchFile(switches),
		Note: func(c library.Change) { fmt.Println(c.Kind, c.Action, c.Name) },
	})
	if _, err := l.InstallSkill(context.Background(), library.From{Path: source}, false); err != nil {
		panic(err)
	}
	if _, err := l.SwitchSkill("review", false); err != nil {
		panic(err)
	}
	_, err = l.SwitchSkill("reviw", true)
	fmt.Println(err)
	// Output:
	// skills installed review
	// skills disabled review
	// unknown skill "reviw": did you mean review?
}
