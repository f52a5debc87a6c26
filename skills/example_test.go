package skills_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/skills"
)

func Example() {
	registry := skills.NewRegistry(nil)
	err := registry.Register(skills.Virtual{
		Name:        "haiku",
		Description: "Writes haiku. Use when a short poem is wanted.",
		Body:        "Write about $ARGUMENTS in three lines.",
	})
	if err != nil {
		panic(err)
	}
	now := registry.Refresh()
	fmt.Println(now.Catalogue(0))
	act, err := now.Activate(nil, "haiku", "autumn", false)
	if err != nil {
		panic(err)
	}
	fmt.Println(act.Text)
	// Output:
	// <available_skills>
	// <skill><name>haiku</name><description>Writes haiku. Use when a short poem is wanted.</description></skill>
	// </available_skills>
	// <skill_content name="haiku" origin="virtual">
	// Write about autumn in three lines.
	// </skill_content>
}

func ExampleParse() {
	doc := skills.Parse([]byte("---\nname: Review\ndescription: Reviews texts. Use before one is sent.\n---\nRead it.\n"))
	_, list := doc.Judge(skills.Strict)
	for _, d := range list {
		fmt.Println(d.Severity, d.Code)
	}
	// Output: error name_not_lowercase
}
