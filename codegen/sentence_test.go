package codegen

import (
	"strings"
	"testing"
)

func TestFirstSentence(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"List issues. Then more.", "List issues. Then more."}, // two words are too short
		{"List the issues. Then more.", "List the issues."},
		{"List issues", "List issues"},
		{"", ""},
		// Leading text before the first sentence.
		{"\n  🎯 Purpose:\n    1. Retrieves a list of objects.\n\n  📦 Returns:\n    1. Objects.", "Retrieves a list of objects."},
		{"🛡️ Guardrails:\n 1. Data warning: this changes data.\n\n🎯 Purpose:\n 1. Creates a deal in the CRM.\n 2. More.", "Creates a deal in the CRM."},
		{"# List issues\n\nReturns the issues of a repository.", "Returns the issues of a repository."},
		{"Verify Task\n===========\nCheck a task against its criteria. Then score.", "Check a task against its criteria."},
		{"**Overview**\n\n- [ ] Opens **a page** in the browser. Waits.", "Opens a page in the browser."},
		{"1️⃣ Uploads a file to the store. ✅ Done.", "Uploads a file to the store."},
		{"✨🚀 Deploys the site to production!", "Deploys the site to production!"},
		{"> • (1) Reads the next message\n> • (2) Sends one", "Reads the next message"},
		{"```json\n{\"a\": 1}\n```\nSends a payload to the hook.", "Sends a payload to the hook."},
		{"{\n  \"type\": \"x\"\n}\nParses the thing above it.", "Parses the thing above it."},
		{"| a | b |\n|---|---|\n| 1 | 2 |\n\nReads a table of values.", "Reads a table of values."},
		{"<usecase>Finds a story by its id.</usecase>\n<hints>none</hints>", "Finds a story by its id."},
		{"<p>Sends <b>one</b> mail &amp; waits.</p>", "Sends one mail & waits."},
		{"![logo](https://a.example/l.png) See [the docs](https://a.example/d(1)) for each field.", "See the docs for each field."},
		{"Name: get_file\n   Description: Get a report by its hash. Returns more.", "Get a report by its hash."},
		{"Use this tool when you need to:\n- Create a team in Sentry\n- Rename one", "Use this tool when you need to: Create a team in Sentry"},
		{"Get RSS\n\nArgs:\n    feed: the feed to read", "Get RSS. feed: the feed to read"},
		{"Purpose:", "Purpose"},
		{"🎯", "🎯"},
		// Full stops that do not end a sentence.
		{"Get items, e.g. Files or folders. More.", "Get items, e.g. Files or folders."},
		{"Converts to v1.2 of example.com/a.b?c=d. Next.", "Converts to v1.2 of example.com/a.b?c=d."},
		{"Searches Acme Inc. News for a term. Next.", "Searches Acme Inc. News for a term."},
		{"Lists flights in the U.S. and abroad. Next.", "Lists flights in the U.S. and abroad."},
		{"Reads logs, metrics, etc. from a host. Next.", "Reads logs, metrics, etc. from a host."},
		{"Reads logs, metrics, etc. Needs a token.", "Reads logs, metrics, etc."},
		{"Waits... then reads the page. Next.", "Waits... then reads the page."},
		{"IMPORTANT: 1. Run this first. 2. Then that.", "IMPORTANT: 1. Run this first."},
		{"Finds a file (by name. Or by id) in a folder. Next.", "Finds a file (by name. Or by id) in a folder."},
		{"Says \"Hello there.\" Then goes.", "Says \"Hello there.\""},
		{"Adds the tags <owner>/<repo> to a thing. Next.", "Adds the tags <owner>/<repo> to a thing."},
		// Other languages.
		{"查询列车的经停信息。返回站名。", "查询列车的经停信息。"},
		{"メールを検索します！結果はJSONです。", "メールを検索します！"},
		{"किसी फ़ाइल को हटाता है। फिर रुकता है।", "किसी फ़ाइल को हटाता है।"},
		{"هل الخادم يعمل الآن؟ نعم.", "هل الخادم يعمل الآن؟"},
		{"Удаляет файл, т.е. его запись. Потом ещё.", "Удаляет файл, т.е. его запись."},
		{"Löscht z.B. Dateien und Ordner. Danach mehr.", "Löscht z.B. Dateien und Ordner."},
	} {
		if got := FirstSentence(c.text, 200); got != c.want {
			t.Errorf("FirstSentence(%q)\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestFirstSentenceIsCutAfterAWord(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"Downloads the archive from https://example.com/very/long/path/of/a/file.zip", 60, "Downloads the archive from…"},
		{"Counts one two three four five six", 20, "Counts one two…"},
		{strings.Repeat("字", 30), 10, strings.Repeat("字", 9) + "…"},
	} {
		if got := FirstSentence(c.text, c.limit); got != c.want {
			t.Errorf("FirstSentence(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}

func FuzzFirstSentence(f *testing.F) {
	f.Add("🎯 Purpose:\n 1. Retrieves (a. list\n```", 20)
	f.Add("| a |\n**\n<p>\n[a](b", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 2 + limit&255
		got := FirstSentence(text, limit)
		if n := len([]rune(got)); n > limit {
			t.Errorf("FirstSentence(%q, %d) = %q, of %d characters", text, limit, got, n)
		}
		if strings.ContainsAny(got, "\n\r") {
			t.Errorf("FirstSentence(%q, %d) = %q has lines", text, limit, got)
		}
		if got == "" && len(text) < maxProse && len(strings.Fields(text)) > 0 {
			t.Errorf("FirstSentence(%q, %d) is empty", text, limit)
		}
	})
}
