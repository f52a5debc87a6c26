package plugin

import (
	"io/fs"
	"os"
	"path"
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

// readCommands reads the Markdown files below a folder of the plugin.
func (p *Plugin) readCommands(root *os.Root, dir string) {
	_ = fs.WalkDir(root.FS(), dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && name == dir:
			return fs.SkipAll // most plugins have none
		case err != nil:
			p.problem(name, "bad_command", "it cannot be read: %s", cause(err))
			return nil
		case e.IsDir() || path.Ext(name) != ".md":
			return nil
		case len(p.Commands) == maxCommands:
			p.problem(dir, "bad_command", "only %d commands are read", maxCommands)
			return fs.SkipAll
		}
		doc, body, problem := readCommand(root, name)
		if problem != "" {
			p.problem(name, "bad_command", "the command is left out: %s", problem)
			return nil
		}
		rel := strings.TrimPrefix(strings.TrimSuffix(name, ".md"), dir+"/")
		description := doc.Description
		if description == "" {
			description = firstLine(body)
		}
		p.Commands = append(p.Commands, Command{
			Name: p.Name + ":" + strings.ReplaceAll(rel, "/", ":"), Description: description,
			ArgumentHint: doc.Extra["argument-hint"], dir: p.Dir, file: name,
		})
		return nil
	})
}

// readCommand reads a command, whose header may be missing.
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
