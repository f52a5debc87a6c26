package skills

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// minDescriptionRunes is how short a description may be to say what for and
// when.
const minDescriptionRunes = 40

var (
	markdownLink = regexp.MustCompile(`\]\(\s*<?([^)<>\s]+)>?[^)]*\)`)
	saysWhen     = regexp.MustCompile(`(?i)\b(when|whenever|if|for|before|after|during|use|used|uses)\b`)
	// linkedFolders hold files that a body has to mention, or nobody finds them.
	linkedFolders = []string{"references/", "scripts/", "assets/"}
)

// Lint remarks on what a skill in the folder at dir would be better without,
// beyond the rules of the standard: links that lead nowhere, files that nothing
// leads to, a description that does not say when. The codes are
// dangling_reference, reference_escape, orphan_file, description_short,
// description_when; the first two are errors.
func Lint(dir string) ([]Diagnostic, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := skillFile(root)
	if err != nil {
		return nil, nil // which is what Judge says
	}
	data, err := readBounded(root, name, MaxFileBytes)
	if err != nil || !utf8.Valid(data) {
		return nil, nil
	}
	var list []Diagnostic
	files := root.FS()
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	doc := Parse(data)
	if n := utf8.RuneCountInString(doc.Description); n > 0 && n < minDescriptionRunes {
		list = append(list, Diagnostic{"description_short", Warning, "description", "description has only " + counted(n, "character") + ": say what the skill does and when to use it", doc.lineOf("description")})
	} else if n > 0 && !saysWhen.MatchString(doc.Description) {
		list = append(list, Diagnostic{"description_when", Warning, "description", "description does not say when to use the skill", doc.lineOf("description")})
	}
	list = append(list, lintLinks(files, text)...)
	return append(list, lintOrphans(files, text)...), nil
}

// lintLinks checks the links of a text to files, outside of code blocks.
func lintLinks(files fs.FS, text string) []Diagnostic {
	var list []Diagnostic
	code := false
	for i, line := range strings.Split(text, "\n") {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			code = !code
			continue
		}
		if code {
			continue
		}
		for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
			target, ok := linkedFile(m[1])
			if !ok {
				continue
			}
			if target == ".." || strings.HasPrefix(target, "../") {
				list = append(list, Diagnostic{"reference_escape", Error, "", "the link " + quoted(m[1]) + " leads out of the skill, where no client reads: move the file into it", i + 1})
			} else if _, err := fs.Stat(files, target); err != nil {
				list = append(list, Diagnostic{"dangling_reference", Error, "", "there is no file " + quoted(target) + " that the link leads to", i + 1})
			}
		}
	}
	return list
}

// linkedFile is the file that a link means, if it means one.
func linkedFile(link string) (string, bool) {
	if strings.ContainsAny(link, "{}$*") {
		return "", false // a pattern of paths, or one with a variable
	}
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" || path.IsAbs(u.Path) {
		return "", false
	}
	return path.Clean(u.Path), true
}

// lintOrphans finds files that neither the text nor another file of the skill
// that is Markdown mentions.
func lintOrphans(files fs.FS, text string) []Diagnostic {
	list, _ := walk(files)
	for _, f := range list {
		if path.Ext(f.Path) == ".md" && f.Size < MaxFileBytes {
			if data, err := fs.ReadFile(files, f.Path); err == nil {
				text += "\n" + string(data)
			}
		}
	}
	var found []Diagnostic
	for _, f := range list {
		inFolder := slices.ContainsFunc(linkedFolders, func(dir string) bool { return strings.HasPrefix(f.Path, dir) })
		if !inFolder || strings.Contains(text, path.Base(f.Path)) {
			continue
		}
		found = append(found, Diagnostic{"orphan_file", Warning, "", "nothing mentions " + quoted(f.Path) + ": name it in " + FileName + " or take it out", 0})
	}
	return found
}
