package tsname

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The form of a name depends on the set of names, not on their order.
func TestDistinct(t *testing.T) {
	for _, c := range []struct {
		form  Form
		names string // separated by |
		want  string
	}{
		{Prefixes, "google-drive|github|v1.api|-x|_y|..", "google_drive|github|v1_api|_x|_y|__"},
		{Prefixes, "my-notes|my notes|my.notes", "my_notes_5798e9de|my_notes_f30ac2b5|my_notes_82ebf634"},
		{Prefixes, "my-notes|my_notes", "my_notes_5798e9de|my_notes"},
		{Prefixes, "Mail|mail|MAIL", "Mail_07ed6ccf|mail|MAIL_619437b4"},
		{Prefixes, "Mail|MAIL", "Mail_07ed6ccf|MAIL_619437b4"},
		{Prefixes, "高德地图|百度地图", "s_1ecb3ba1|s_0750c665"},
		{Prefixes, "高德地图", "s_1ecb3ba1"},
		{Prefixes, "Погода|Größe|café-menu|Καιρός|天気 API", "Pogoda_|Groesse_|cafe_menu_|Kairos_|API_"},
		{Folders, "my-notes|my notes|a.b|a_b", "my-notes|my-notes-f30ac2b5|a.b|a_b"},
		{Folders, "高德地图|..", "s-1ecb3ba1|--"},
		{Namespaces, "高德地图|百度地图|google-drive|fetch", "高德地图|百度地图|googleDrive|fetch_"},
		{Namespaces, "my-notes|my notes", "myNotes_5798e9de|myNotes_f30ac2b5"},
		{Namespaces, "🗺️ maps|maps", "maps_|maps"},
		{Funcs, "get_document|getDocument|Get-Document|delete", "getDocument_|getDocument|getDocument_|delete_"},
		{Funcs, "get_user|get-user", "getUser_|getUser_"},
		{Funcs, "GET", "get"},
		{Funcs, "查询天气|查询路线", "查询天气|查询路线"},
	} {
		names, want := strings.Split(c.names, "|"), strings.Split(c.want, "|")
		got := c.form.Distinct(names)
		for i := range want {
			if got[i] != want[i] && !(strings.HasSuffix(want[i], "_") && want[i] != "__" && strings.HasPrefix(got[i], want[i]) && len(got[i]) == len(want[i])+8) {
				t.Errorf("%q of %s is %q, want %q", names[i], c.names, got[i], want[i])
			}
		}
		for range 5 {
			shuffled := slices.Clone(names)
			rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			for i, name := range c.form.Distinct(shuffled) {
				if before := got[slices.Index(names, shuffled[i])]; name != before {
					t.Errorf("%q is %q in one order and %q in another", shuffled[i], before, name)
				}
			}
		}
	}
}

func FuzzDistinct(f *testing.F) {
	f.Add("my-notes", "my notes", "my_notes_5798e9de")
	f.Add("高德地图", "s_1ecb3ba1", "S_1ECB3BA1")
	f.Add("", ".", "..")
	f.Add("Mail", "mail", "MAIL")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := slices.Compact(slices.Sorted(slices.Values([]string{a, b, c})))
		for what, form := range map[string]Form{"prefix": Prefixes, "folder": Folders, "namespace": Namespaces, "func": Funcs} {
			seen := make(map[string]bool)
			for i, name := range form.Distinct(names) {
				if fold := strings.ToLower(name); seen[fold] {
					t.Errorf("of %q, the %s %q is handed out twice", names, what, name)
				} else {
					seen[fold] = true
				}
				switch {
				case what == "prefix" && (strings.Trim(name, ascii+"_") != "" || strings.Contains(strings.Trim(name, "_"), "__")),
					what == "folder" && (strings.Trim(name, ".") == "" || strings.Trim(name, ascii+"._-") != ""),
					what == "namespace" && !IsIdentifier(name), what == "func" && !IsIdentifier(name):
					t.Errorf("the %s of %q is %q", what, names[i], name)
				}
			}
		}
	})
}
