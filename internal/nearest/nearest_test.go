package nearest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	known := []string{"github", "gitlab", "google-drive", "slack", "s3", "list_issues", "listIssues2"}
	for _, tt := range []struct {
		name string
		n    int
		want []string
	}{
		{"githb", 1, []string{"github"}},
		{"githb", 3, []string{"github", "gitlab"}},
		{"GITHUB", 1, []string{"github"}},
		{"google_drive", 1, []string{"google-drive"}},
		{"google.drive", 1, []string{"google-drive"}},
		{"drive", 2, []string{"google-drive"}},                     // it is part of the name
		{"list-issues", 2, []string{"list_issues", "listIssues2"}}, // nearest first
		{"mslack_channel", 1, []string{"slack"}},                   // the name is part of it
		{"postgres", 3, nil},                                       // nothing is near
		{"s", 3, []string{"s3"}},                                   // but too short to be part of one
		{"", 3, nil},                                               //
		{"--", 3, nil},                                             // nothing but separators
		{"github", 0, nil},                                         //
		{strings.Repeat("x", 200), 3, nil},                         // longer than any name
		{"listissues" + strings.Repeat("x", 1000), 3, []string{"list_issues"}},
	} {
		if got := Names(tt.name, known, tt.n); !slices.Equal(got, tt.want) {
			t.Errorf("Names(%q, %d) = %q, want %q", tt.name, tt.n, got, tt.want)
		}
	}
}

// Names for a name that deletes do not create, and the reverse.
func TestDeletingIsNotCreating(t *testing.T) {
	known := []string{"create_note", "gh__create_repo", "addMember", "delete_page", "remove_file", "clear-cache", "get_cache"}
	for name, want := range map[string][]string{
		"delete_note": {"delete_page"}, "gh__delete_repo": nil, "removeMember": nil, "create_page": {"create_note"}, "add_file": nil, "get-caches": {"get_cache"},
		"creat_note": {"create_note"}, "delte_page": {"delete_page"}, "removeFile": {"remove_file"}, "delete_pages": {"delete_page"}, "clearCache": {"clear-cache"},
	} {
		if got := Names(name, known, 3); !slices.Equal(got, want) {
			t.Errorf("Names(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEquallyNearNamesComeByAlphabet(t *testing.T) {
	for _, known := range [][]string{{"ab3", "ab1", "ab2"}, {"ab2", "ab3", "ab1"}} {
		if got := Names("ab", known, 2); !slices.Equal(got, []string{"ab1", "ab2"}) {
			t.Errorf("among %q: %q", known, got)
		}
	}
}

func TestFold(t *testing.T) {
	for _, same := range []string{"get_document", "getDocument", "Get-Document", "get.document", "get/document", "get: document"} {
		if got := Fold(same); got != "getdocument" {
			t.Errorf("Fold(%q) = %q", same, got)
		}
	}
}

// What is compared does not grow with the name.
func TestALongNameCostsNoMoreThanItsBeginning(t *testing.T) {
	known := make([]string, 500)
	for i := range known {
		known[i] = fmt.Sprintf("server_%d__%s", i, strings.Repeat("tool", 25))
	}
	for _, name := range []string{strings.Repeat("ab", 8<<20), strings.Repeat("日本", 4<<20)} {
		start := time.Now()
		if got := Names(name, known, 3); got != nil {
			t.Errorf("%q", got)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%d bytes took %v", len(name), took)
		}
	}
}

func TestHint(t *testing.T) {
	many := strings.Fields(strings.Repeat("qqqq ", 22))
	for _, tt := range []struct {
		name  string
		known []string
		want  string
	}{
		{"githb", []string{"github", "slack"}, ": did you mean github?"},
		{"zzz", []string{"github", "slack"}, "; there are: github, slack"},
		{"zzz", many, "; there are: " + strings.Repeat("qqqq, ", 19) + "qqqq and 2 more"},
		{"zzz", nil, ": there are none"},
	} {
		if got := Hint(tt.name, tt.known, "there are", "there are none"); got != tt.want {
			t.Errorf("Hint(%q, %q) = %q, want %q", tt.name, tt.known, got, tt.want)
		}
	}
}
