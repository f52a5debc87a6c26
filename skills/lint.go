package skills

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/internal/words"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// minDescriptionRunes is how short a description may be to say what for and
// when.
const minDescriptionRunes = 40

// maxBodyTokens is what the standard recommends for a text.
const maxBodyTokens = 5000

var (
	markdownLink = lazyregexp.New(`\]\(\s*<?([^)<>\s]+)>?[^)]*\)`)
	saysWhen     = lazyregexp.New(`(?i)\b(when|whenever|if|for|before|after|during|use|used|uses)\b`)
	// linkedFolders contain files that a body must mention to be found.
	linkedFolders = []string{"references/", "scripts/", "assets/"}
)

// LintOptions are what Lint needs of others. The zero value works.
type LintOptions struct {
	// KnownTool reports whether there is a tool; nil knows them all. It is asked
	// for ids such as "github__list_issues".
	KnownTool func(id string) bool
}

// Lint reports probable mistakes in the skill at path, as ReadPath takes it,
// beyond the rules of the standard: links that lead nowhere, files that nothing
// leads to, a description that does not say when, tools that are not there, a
// workflow that cannot end. What is about a subskill begins with [subskill:NAME].
// The codes are dangling_reference, reference_escape,
// workflow_invalid, which are errors, and orphan_file, description_short,
// description_when, body_tokens, unknown_tool, and workflow_ with the code of a
// workflow.Remark.
func Lint(path string, o *LintOptions) ([]Diagnostic, error) {
	if o == nil {
		o = &LintOptions{}
	}
	dir, _ := Locate(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name, err := skillFile(root)
	if err != nil {
		return nil, nil // which is what Judge says
	}
	data, err := readRegular(root.FS(), name, MaxFileBytes)
	if err != nil || !utf8.Valid(data) {
		return nil, nil
	}
	var list []Diagnostic
	files := root.FS()
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	doc := Parse(data)
	if n := utf8.RuneCountInString(doc.Description); n > 0 && n < minDescriptionRunes {
		list = append(list, Diagnostic{"description_short", Warning, "description", "description has only " + words.Count(n, "character") + ": say what the skill does and when to use it", doc.lineOf("description")})
	} else if n > 0 && !saysWhen.MatchString(doc.Description) {
		list = append(list, Diagnostic{"description_when", Warning, "description", "description does not say when to use the skill", doc.lineOf("description")})
	}
	if n := Tokens(doc.Body); n > maxBodyTokens {
		list = append(list, Diagnostic{"body_tokens", Warning, "", fmt.Sprintf("the text costs about %d tokens, more than %d, each time: move what is not always needed into files of references/", n, maxBodyTokens), 0})
	}
	list = append(list, lintLinks(files, text)...)
	list = append(list, lintTools(doc, text, o.KnownTool)...)
	w, err := readWorkflow(files)
	if err != nil {
		list = append(list, Diagnostic{"workflow_invalid", Error, "", oneLineOf(err), 0})
	}
	list = append(list, lintWorkflow(w, files, o.KnownTool)...)
	return append(list, lintOrphans(w, files, text)...), nil
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

var calledTool = lazyregexp.New(`call(?:MCPTool|_mcp_tool)\(\s*['"]([^'"\n]+)['"]`)

// lintTools finds tools that the text calls or the header names, and that are
// not there. Those of a server that the skill brings along are its own business.
func lintTools(doc *Doc, text string, known func(id string) bool) []Diagnostic {
	if known == nil {
		return nil
	}
	var list []Diagnostic
	for i, line := range strings.Split(text, "\n") {
		for _, m := range calledTool.FindAllStringSubmatch(line, -1) {
			if !known(m[1]) {
				list = append(list, Diagnostic{"unknown_tool", Warning, "", "there is no tool " + quoted(m[1]) + " here", i + 1})
			}
		}
	}
	for _, t := range doc.AllowedTools {
		server, tool, ok := strings.Cut(strings.TrimPrefix(t, "mcp__"), "__")
		if strings.HasPrefix(t, "mcp__") && ok && !strings.ContainsAny(tool, "*(") && !known(server+"__"+tool) {
			list = append(list, Diagnostic{"unknown_tool", Warning, "allowed-tools", "there is no tool " + quoted(t) + " here", doc.lineOf("allowed-tools")})
		}
	}
	return list
}

// lintWorkflow judges the workflow.json, if there is one that can be read.
func lintWorkflow(w *workflow.Workflow, files fs.FS, known func(id string) bool) (list []Diagnostic) {
	if w == nil {
		return nil
	}
	for _, r := range w.Lint(known) {
		where := workflow.FileName
		if r.Step != "" {
			where += ", " + quoted(r.Step)
		}
		list = append(list, Diagnostic{"workflow_" + strings.ReplaceAll(r.Code, "-", "_"), Warning, "", where + ": " + r.Message, 0})
	}
	for _, file := range w.Files() {
		if target := path.Clean(file); !fs.ValidPath(target) {
			list = append(list, Diagnostic{"reference_escape", Error, "", "the file " + quoted(file) + " that a topic of " + workflow.FileName + " names is outside of the skill: move it in", 0})
		} else if _, err := fs.Stat(files, target); err != nil {
			list = append(list, Diagnostic{"dangling_reference", Error, "", "there is no file " + quoted(file) + " that a topic of " + workflow.FileName + " names", 0})
		}
	}
	return list
}

// lintOrphans finds files that neither the text, nor the workflow, nor another
// Markdown file of the skill mentions. One in a folder with the name of a
// subskill belongs to that.
func lintOrphans(w *workflow.Workflow, files fs.FS, text string) []Diagnostic {
	list, _ := walk(files)
	for _, f := range list {
		if (path.Ext(f.Path) == ".md" || f.Path == workflow.FileName) && f.Size < MaxFileBytes {
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
		mark := ""
		for folder := range strings.SplitSeq(path.Dir(f.Path), "/") {
			if w != nil && slices.Contains(w.Subskills(), folder) {
				mark = "[subskill:" + folder + "] "
			}
		}
		found = append(found, Diagnostic{"orphan_file", Warning, "", mark + "nothing mentions " + quoted(f.Path) + ": name it in " + FileName + " or take it out", 0})
	}
	return found
}
