package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpbroker/mcpbroker/skills"
)

// maxCommands bounds the commands of one plugin.
const maxCommands = 500

// A Command is a prompt that a user may pick.
type Command struct {
	// Name is plugin:command, with a colon for each folder between.
	Name        string `json:"name"`
	Description string `json:"description"`
	// ArgumentHint says what arguments it takes, or nothing.
	ArgumentHint string `json:"argument_hint"`

	dir, file string
}

// readCommands reads a Markdown file of the plugin, or those below a folder, which may
// be missing unless the manifest names it. as is the name of the command in a file, if
// it differs.
func (p *Plugin) readCommands(root *os.Root, at, as string, named bool) {
	_ = fs.WalkDir(root.FS(), at, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == at && !named:
			return fs.SkipAll // most plugins have none
		case errors.Is(err, fs.ErrNotExist) && name == at:
			p.problem(ManifestFile, "bad_command", `"commands" names %q, and there is no such file or folder`, at)
			return nil
		case err != nil:
			p.problem(name, "bad_command", "it cannot be read: %s", cause(err))
			return nil
		case name == at && !e.IsDir() && path.Ext(name) != ".md":
			p.problem(ManifestFile, "bad_command", `"commands" names %q, which is not a Markdown file`, at)
			return nil
		case e.IsDir() || path.Ext(name) != ".md":
			return nil
		case len(p.Commands) == maxCommands:
			p.problem(at, "bad_command", "only %d commands are read", maxCommands)
			return fs.SkipAll
		}
		called := p.commandName(at, name)
		if as != "" && name == at {
			called = p.Name + ":" + as
		}
		doc, body, problem := readCommand(root, name)
		if i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == called }); i >= 0 {
			if p.Commands[i].file == name {
				return nil
			}
			problem = fmt.Sprintf("%s is %s already", called, p.Commands[i].file)
		}
		if problem != "" {
			p.problem(name, "bad_command", "the command is left out: %s", problem)
			return nil
		}
		description := doc.Description
		if description == "" {
			description = firstLine(body)
		}
		p.Commands = append(p.Commands, Command{
			Name: called, Description: description,
			ArgumentHint: doc.Extra["argument-hint"], dir: p.Dir, file: name,
		})
		return nil
	})
}

// commandName is what the command in a file is called that is, or is below, at.
func (p *Plugin) commandName(at, file string) string {
	rel := strings.TrimPrefix(file, at+"/")
	if file == at {
		rel = path.Base(file)
	}
	return p.Name + ":" + strings.ReplaceAll(strings.TrimSuffix(rel, ".md"), "/", ":")
}

// readCommand reads a command with or without a header.
func readCommand(root *os.Root, name string) (doc *skills.Doc, body, problem string) {
	data, err := readFile(root, name, skills.MaxFileBytes)
	if err != nil {
		return nil, "", cause(err)
	}
	if !utf8.Valid(data) {
		return nil, "", "it is not UTF-8"
	}
	doc = skills.Parse(data)
	body = doc.Body
	_, list := doc.Judge(skills.Lenient)
	for _, d := range list {
		switch d.Code {
		case "no_frontmatter":
			body = strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
		case "invalid_yaml", "unclosed_frontmatter", "yaml_alias", "yaml_tag", "not_a_mapping":
			return nil, "", d.Message
		}
	}
	return doc, body, ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "# "))
}

// Text reads the command and puts arguments into it.
func (c Command) Text(arguments string) (string, error) {
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return "", &Error{"bad_command", "command " + c.Name + " is gone"}
	}
	defer root.Close()
	_, body, problem := readCommand(root, c.file)
	if problem != "" {
		return "", &Error{"bad_command", "command " + c.Name + ": " + problem}
	}
	return skills.Render(body, arguments), nil
}
