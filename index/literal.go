package index

import (
	"net/url"
	"strings"
)

// withoutData puts what a value is in the place of the value: agents write
// "fetch https://example.com/a/b.html" and "read /home/me/notes.txt", where the
// words of the address say nothing about the tool.
func withoutData(text string) string {
	if !strings.ContainsAny(text, "/@.\\") {
		return text
	}
	words := strings.Fields(text)
	for i, w := range words {
		if kind := valueKind(strings.Trim(w, `"'`+"`()<>[]{},;!?")); kind != "" {
			words[i] = kind + w[len(strings.TrimRight(w, ".,;!?")):] // they end sentences
		}
	}
	return strings.Join(words, " ")
}

// valueKind returns the word in descriptions of tools for the kind of a value, or
// nothing: a web address, a mail address, a file.
func valueKind(s string) string {
	lower := strings.ToLower(s)
	switch {
	case strings.HasPrefix(lower, "http://"), strings.HasPrefix(lower, "https://"), strings.HasPrefix(lower, "www."):
		return "url"
	case strings.Count(s, "@") == 1 && isDomain(lower[strings.IndexByte(lower, '@')+1:]) && s[0] != '@':
		return "email"
	case isPath(s), isFileName(lower):
		if kind := fileKinds[lower[strings.LastIndexByte(lower, '.')+1:]]; kind != "" {
			return "file " + kind
		}
		return "file"
	}
	if host, _, _ := strings.Cut(lower, "/"); isDomain(strings.TrimSuffix(host, ".")) {
		return "url"
	}
	return ""
}

// fileKinds are words in descriptions of tools for what a file is, by the end of its name.
var fileKinds = map[string]string{
	"xlsx": "excel", "xls": "excel", "xlsm": "excel", "ods": "spreadsheet", "csv": "csv", "tsv": "csv", "docx": "word document", "doc": "word document", "odt": "document",
	"pptx": "presentation", "ppt": "presentation", "odp": "presentation", "pdf": "pdf", "html": "html", "htm": "html", "json": "json", "yaml": "yaml", "yml": "yaml", "xml": "xml",
	"png": "image", "jpg": "image", "jpeg": "image", "gif": "image", "webp": "image", "svg": "svg", "mp3": "audio", "wav": "audio", "flac": "audio", "m4a": "audio",
	"mp4": "video", "mov": "video", "avi": "video", "mkv": "video", "zip": "archive", "tar": "archive", "gz": "archive", "sqlite": "sqlite", "db": "database",
	"ipynb": "notebook", "epub": "book",
}

// plainFiles are the ends of names of files without a word of their own in descriptions of tools.
// Those of languages that libraries have in their names, such as js, are left out.
var plainFiles = map[string]bool{
	"txt": true, "md": true, "log": true, "ini": true, "toml": true, "conf": true, "cfg": true, "env": true, "lock": true, "bak": true,
	"py": true, "go": true, "rs": true, "rb": true, "java": true, "kt": true, "swift": true, "c": true, "h": true, "cpp": true, "cs": true,
	"php": true, "sh": true, "sql": true, "css": true, "tsx": true, "jsx": true, "vue": true, "dart": true, "tf": true, "rtf": true,
}

// isFileName reports whether s, in lower case, is the name of a file, or a path without a root:
// config.yaml, src/main.go.
func isFileName(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	if dot < 1 || strings.ContainsAny(s, ":?=()") {
		return false
	}
	ext := s[dot+1:]
	return plainFiles[ext] || fileKinds[ext] != ""
}

// topLevels are the ends of host names that people write without "https://".
// Those that are also the ends of file names or of tools' names are left out.
var topLevels = map[string]bool{
	"com": true, "org": true, "net": true, "edu": true, "gov": true, "io": true, "dev": true, "info": true,
	"co": true, "uk": true, "de": true, "fr": true, "eu": true, "cn": true, "jp": true,
}

// isDomain reports whether s looks like a host's name.
func isDomain(s string) bool {
	dot := strings.LastIndexByte(s, '.')
	if dot < 1 || !topLevels[s[dot+1:]] {
		return false
	}
	u, err := url.Parse("//" + s)
	return err == nil && u.Hostname() == s && !strings.ContainsAny(s, "_")
}

// isPath reports whether s is a path from a root: /a/b, ~/a, C:\a.
func isPath(s string) bool {
	switch {
	case strings.HasPrefix(s, "/"):
		return strings.Count(s, "/") > 1 && !strings.HasPrefix(s, "//")
	case strings.HasPrefix(s, "~/"), strings.HasPrefix(s, "./"), strings.HasPrefix(s, "../"):
		return len(s) > 3
	}
	return len(s) > 3 && s[1:3] == `:\`
}
