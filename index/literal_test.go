package index

import (
	"path/filepath"
	"testing"

	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery"
)

func TestAPathSaysWhatFileItIs(t *testing.T) {
	for text, want := range map[string]string{
		"read /home/me/sales.xlsx now":   "read file excel now",
		"convert ~/cv.DOCX to ./out.pdf": "convert file word document to file pdf",
		`open C:\pictures\cat.png`:       "open file image",
		"save it to /tmp/notes":          "save it to file",
		"save it to /tmp/a.b/notes":      "save it to file",
		"see /etc/hosts.unknown":         "see file",
		"read /tmp/a.pdf; mail it to me": "read file pdf; mail it to me",
		"read /tmp/a. Mail it":           "read file. Mail it",
		"go to example.com, then scroll": "go to url, then scroll",
		"Is it at ana@example.org?":      "Is it at email?",
		"and/or":                         "and/or",
	} {
		if got := withoutData(text); got != want {
			t.Errorf("withoutData(%q) = %q, want %q", text, got, want)
		}
	}
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "read_sheet", Description: "Read a sheet of an Excel workbook."},
		discovery.ListedTool{Name: "read_pdf", Description: "Read the pages of a PDF."},
		discovery.ListedTool{Name: "write_file", Description: "Write text to a file."},
		discovery.ListedTool{Name: "save_bookmark", Description: "Save a bookmark."},
	))
	for query, want := range map[string]string{"read /data/q3.xlsx": "read_sheet", "read /data/q3.pdf": "read_pdf", "the summary, and save it in /data/summary.md": "write_file"} {
		if got := ids(t, x, Query{Text: query}); len(got) == 0 || got[0] != "git_hub__"+want {
			t.Errorf("Search(%q) = %v, want %s first", query, got, want)
		}
	}
}

// Of the tools of whole tasks, as people write them, many are among the first eight.
func TestTasksOfRecordings(t *testing.T) {
	needRetrieval(t)
	c := loadTools(t, filepath.Join(retrieval, "tools_core.jsonl"))
	x := newIndex(t, c)
	b, err := os.ReadFile(filepath.Join(retrieval, "tasks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	share, n := 0.0, 0.0
	for line := range strings.Lines(string(b)) {
		var task struct {
			Query    string
			Relevant []string
		}
		if err := json.Unmarshal([]byte(line), &task); err != nil {
			t.Fatal(err)
		}
		h, err := x.Search(t.Context(), Query{Text: task.Query})
		if err != nil {
			t.Fatal(err)
		}
		found := 0.0
		for _, h := range h.Hits {
			if tool, ok := c.Tool(h.ID); ok && slices.Contains(task.Relevant, tool.Server+"/"+tool.Name) {
				found++
			}
		}
		share += found / float64(len(task.Relevant))
		n++
	}
	t.Logf("%.3f of the tools of %.0f tasks", share/n, n)
	if share/n < .45 {
		t.Errorf("%.3f of the tools of %.0f tasks are among the first eight, want .450", share/n, n)
	}
}
