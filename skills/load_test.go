package skills_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills"
)

// codes are those of a severity, or all.
func codes(list []skills.Diagnostic, of skills.Severity) []string {
	found := []string{}
	for _, d := range list {
		if of == "" || d.Severity == of {
			found = append(found, d.Code)
		}
	}
	return found
}

func wantCodes(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, c := range want {
		if !slices.Contains(got, c) {
			t.Errorf("%s: codes %v, want %s among them", what, got, c)
		}
	}
}

func TestLoadCases(t *testing.T) {
	type input struct{ Skill string }
	type want struct {
		Strict struct {
			Valid bool
			Codes []string
		}
		Lenient struct {
			Loads             bool
			Name, Description string
			Codes, Warnings   []string
		}
		Body, License, Compatibility *string
		Metadata                     map[string]string
		AllowedTools                 []string `json:"allowed_tools"`
	}
	skillcases.Run(t, "load", func(t *testing.T, dir string, in input, want want) {
		d := skills.ReadPath(filepath.Join(dir, in.Skill))
		valid, list := d.Judge(skills.Strict)
		if valid != want.Strict.Valid {
			t.Errorf("strict: valid = %v with %v, want %v", valid, list, want.Strict.Valid)
		}
		wantCodes(t, "strict", codes(list, ""), want.Strict.Codes)

		loads, list := d.Judge(skills.Lenient)
		if loads != want.Lenient.Loads {
			t.Fatalf("lenient: loads = %v with %v, want %v", loads, list, want.Lenient.Loads)
		}
		wantCodes(t, "lenient", codes(list, ""), want.Lenient.Codes)
		if !loads {
			return
		}
		wantCodes(t, "lenient", codes(list, skills.Warning), want.Lenient.Warnings)
		if len(want.Lenient.Warnings) == 0 && len(list) > 0 {
			t.Errorf("lenient: %v, want nothing", list)
		}
		if d.Name != want.Lenient.Name || d.Description != want.Lenient.Description {
			t.Errorf("name %q, description %q, want %q and %q", d.Name, d.Description, want.Lenient.Name, want.Lenient.Description)
		}
		for what, pair := range map[string][2]*string{"body": {&d.Body, want.Body}, "license": {&d.License, want.License}, "compatibility": {&d.Compatibility, want.Compatibility}} {
			if pair[1] != nil && *pair[0] != *pair[1] {
				t.Errorf("%s = %q, want %q", what, *pair[0], *pair[1])
			}
		}
		if want.Metadata != nil {
			if diff := cmp.Diff(want.Metadata, d.Metadata); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
		}
		if want.AllowedTools != nil {
			if diff := cmp.Diff(want.AllowedTools, d.AllowedTools); diff != "" {
				t.Errorf("allowed tools (-want +got):\n%s", diff)
			}
		}
	})
}

func TestASkillIsLoadedByItsFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "lower/skill.md", skillText("lower", "Is lower. Use it."))
	for _, path := range []string{"lower", "lower/skill.md"} {
		d := skills.ReadPath(filepath.Join(dir, path))
		if ok, list := d.Judge(skills.Lenient); !ok || d.Name != "lower" {
			t.Errorf("%s: %q, %v", path, d.Name, list)
		}
	}
}
