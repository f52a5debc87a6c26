package skills_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpbroker/mcpbroker/internal/skillcases"
	"github.com/mcpbroker/mcpbroker/skills"
)

// registry looks into these folders.
func registry(roots ...skills.Root) *skills.Registry {
	return skills.NewRegistry(&skills.Options{Roots: func() ([]skills.Root, []skills.Problem) { return roots, nil }})
}

// skillIn finds the one skill of a folder.
func skillIn(t *testing.T, dir string) *skills.Skill {
	t.Helper()
	all := registry(skills.Root{Path: dir, Scope: skills.ScopeUser}).Refresh().All()
	if len(all) != 1 {
		t.Fatalf("%d skills in %s, want one", len(all), dir)
	}
	return all[0]
}

// code is that of a FileError.
func code(t *testing.T, err error) string {
	t.Helper()
	e, ok := errors.AsType[*skills.FileError](err)
	if !ok {
		t.Fatalf("error %v is no FileError", err)
	}
	return e.Code
}

func TestReadCases(t *testing.T) {
	type input struct {
		Skill    string
		Requests []struct {
			Path          string
			Offset, Limit int64
		}
	}
	type want struct {
		Results []struct {
			OK         bool
			Text       string
			Truncated  *bool
			TotalBytes int64 `json:"total_bytes"`
			Codes      []string
		}
	}
	skillcases.Run(t, "read", func(t *testing.T, dir string, in input, want want) {
		s := skillIn(t, filepath.Join(dir, in.Skill))
		for i, w := range want.Results {
			r := in.Requests[i]
			p, err := s.ReadFile(r.Path, r.Offset, r.Limit)
			if !w.OK {
				if err == nil || !slices.Contains(w.Codes, code(t, err)) {
					t.Errorf("read %q: %v, want one of %v", r.Path, err, w.Codes)
				} else if strings.Contains(err.Error(), dir) {
					t.Errorf("read %q: %q names a path of the host", r.Path, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("read %q: %v", r.Path, err)
				continue
			}
			if p.Text != w.Text || w.Truncated != nil && p.Truncated != *w.Truncated || w.TotalBytes != 0 && p.TotalBytes != w.TotalBytes {
				t.Errorf("read %q: %+v, want %+v", r.Path, p, w)
			}
		}
	})
}

func TestDiscoverCases(t *testing.T) {
	type found struct{ Name, Path, Scope string }
	type input struct {
		Roots    []struct{ Path, Scope string }
		Disabled []string
	}
	type want struct {
		Skills      []found
		Diagnostics []struct{ Code, Path string }
	}
	skillcases.Run(t, "discover", func(t *testing.T, dir string, in input, want want) {
		var roots []skills.Root
		for _, r := range in.Roots {
			roots = append(roots, skills.Root{Path: filepath.Join(dir, filepath.FromSlash(r.Path)), Scope: skills.Scope(r.Scope)})
		}
		switches := filepath.Join(dir, "state.json")
		for _, name := range in.Disabled {
			if err := skills.SetSwitch(skills.SwitchFile(switches), skills.KindSkill, name, false); err != nil {
				t.Fatal(err)
			}
		}
		s := skills.NewRegistry(&skills.Options{Switches: skills.SwitchFile(switches), Roots: func() ([]skills.Root, []skills.Problem) { return roots, nil }}).Refresh()
		relative := func(path string) string {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				t.Fatal(err)
			}
			return filepath.ToSlash(rel)
		}
		var got []found
		for _, k := range s.Shown() {
			got = append(got, found{k.Name, relative(k.Dir()), string(k.Scope)})
		}
		if diff := cmp.Diff(want.Skills, got); diff != "" {
			t.Errorf("skills (-want +got):\n%s", diff)
		}
		for _, w := range want.Diagnostics {
			if !slices.ContainsFunc(s.Problems, func(p skills.Problem) bool { return p.Code == w.Code && relative(p.Path) == w.Path }) {
				t.Errorf("problems %v, want %v", s.Problems, w)
			}
		}
	})
}

func TestCatalogueCases(t *testing.T) {
	type input struct{ Skills []string }
	type want struct {
		Names, Descriptions []string
		MustNotContain      []string `json:"must_not_contain"`
	}
	skillcases.Run(t, "catalog", func(t *testing.T, dir string, in input, want want) {
		var roots []skills.Root
		for _, s := range in.Skills {
			roots = append(roots, skills.Root{Path: filepath.Join(dir, filepath.FromSlash(s)), Scope: skills.ScopeUser})
		}
		text := registry(roots...).Refresh().Catalogue(0)
		for _, not := range want.MustNotContain {
			if strings.Contains(text, not) {
				t.Errorf("catalogue %q contains %q", text, not)
			}
		}
		if len(want.Names) == 0 {
			if text != "" {
				t.Errorf("catalogue of nothing is %q", text)
			}
			return
		}
		var doc struct {
			Skills []struct {
				Name        string `xml:"name"`
				Description string `xml:"description"`
			} `xml:"skill"`
		}
		if err := xml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		var names, descriptions []string
		for _, s := range doc.Skills {
			names, descriptions = append(names, s.Name), append(descriptions, s.Description)
		}
		if diff := cmp.Diff([][]string{want.Names, want.Descriptions}, [][]string{names, descriptions}); diff != "" {
			t.Errorf("catalogue (-want +got):\n%s", diff)
		}
	})
}

func TestManifestCases(t *testing.T) {
	type input struct {
		Skill string
		At    string `json:"skill_path"`
	}
	skillcases.Run(t, "manifest", func(t *testing.T, dir string, in input, want map[string]any) {
		m, err := skillIn(t, filepath.Join(dir, in.Skill)).Manifest(in.At)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("manifest (-want +got):\n%s", diff)
		}
	})
}

func TestRenderCases(t *testing.T) {
	type input struct{ Body, Args string }
	type want struct{ Text string }
	skillcases.Run(t, "render", func(t *testing.T, _ string, in input, want want) {
		if got := skills.Render(in.Body, in.Args); got != want.Text {
			t.Errorf("Render(%q, %q) = %q, want %q", in.Body, in.Args, got, want.Text)
		}
	})
}
