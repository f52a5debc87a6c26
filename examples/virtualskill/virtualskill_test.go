package main

import (
	"strings"
	"testing"
)

func TestTheModelSeesTheSkillAndUsesItsTool(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{
		"<skill><name>haiku</name><description>Writes haiku.",
		`<skill_content name="haiku" origin="virtual">`, "# Haiku about autumn", `<tool name="count_words">`, "<file>references/rules.md</file>",
		"5, 7 and 5 syllables", `{"words":18}`,
	} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("%q is not where it should be in\n%s", want, out.String())
		}
		at += i
	}
}
