package skills

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// maxListed is how many files of a skill are named when it is activated.
const maxListed = 100

// A Session is what one client has activated. It may be used by several
// goroutines; the zero value is ready. Nothing of one session is seen in
// another.
type Session struct {
	mu     sync.Mutex
	active map[string][sha256.Size]byte // what was said of each
}

// Active returns the names of the skills that were activated, sorted.
func (s *Session) Active() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.active))
}

// Know notes that a skill was activated elsewhere, where its text was said.
func (s *Session) Know(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.active[name]; ok {
		return
	}
	if s.active == nil {
		s.active = map[string][sha256.Size]byte{}
	}
	s.active[name] = [sha256.Size]byte{}
}

// tell notes that a text of a skill is said and reports whether the same was
// said before.
func (s *Session) tell(name, text string) (again bool) {
	sum := sha256.Sum256([]byte(text))
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.active[name]; ok && old == sum {
		return true
	}
	if s.active == nil {
		s.active = map[string][sha256.Size]byte{}
	}
	s.active[name] = sum
	return false
}

// An Activation is the answer when a model asks for a skill.
type Activation struct {
	// Name is the Ref of the skill.
	Name   string `json:"name"`
	Origin string `json:"origin"`
	// Text is made for the model: the body with the arguments put in, the files
	// and the tools.
	Text string `json:"text"`
	// AlreadyActive means that the session has had this very text, and that Text
	// only says so.
	AlreadyActive bool `json:"already_active"`
	// Tools are the names of the skill's tools, Files its files without SKILL.md,
	// at most 100, and MoreFiles the number of the others.
	Tools     []string `json:"tools"`
	Files     []string `json:"resources"`
	MoreFiles int      `json:"more_resources,omitempty"`
	// Warnings are those about its SKILL.md.
	Warnings []string `json:"warnings"`
}

// Activate reads a skill for a model. With force, or without a session, the
// whole text is given even if the session has had it. An error is a *FileError.
func (s *Snapshot) Activate(session *Session, name, arguments string, force bool) (*Activation, error) {
	k, err := s.Get(name)
	if err != nil {
		return nil, err
	}
	return k.Activate(session, arguments, force)
}

// Activate is like that of a Snapshot, for a skill that was found already, such
// as one that only users may pick.
func (s *Skill) Activate(session *Session, arguments string, force bool) (*Activation, error) {
	doc, err := s.Doc()
	if err != nil {
		return nil, err
	}
	files, complete, err := s.Files()
	if err != nil {
		return nil, err
	}
	a := &Activation{Name: s.Ref, Origin: s.Origin(), Tools: []string{}, Files: []string{}, Warnings: []string{}}
	for _, t := range s.Tools {
		a.Tools = append(a.Tools, t.Name)
	}
	for _, f := range files {
		switch {
		case f.Path == s.File():
		case len(a.Files) == maxListed:
			a.MoreFiles++
		default:
			a.Files = append(a.Files, f.Path)
		}
	}
	_, list := doc.Judge(Lenient)
	for _, d := range list {
		a.Warnings = append(a.Warnings, d.Message)
	}
	a.Text = s.content(a, Render(doc.Body, arguments), complete)
	if session != nil && session.tell(s.Ref, a.Text) && !force {
		a.AlreadyActive = true
		a.Text = fmt.Sprintf("Skill %s is active already; its text is above. force: true repeats it.", s.Ref)
	}
	return a, nil
}

// content is the text of an activation.
func (s *Skill) content(a *Activation, body string, complete bool) string {
	var b strings.Builder
	attribute := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	fmt.Fprintf(&b, "<skill_content name=\"%s\" origin=\"%s\">\n", attribute.Replace(s.Ref), attribute.Replace(s.Origin()))
	// A body must not be able to end the element and speak as somebody else.
	b.WriteString(strings.ReplaceAll(gate.Clean(body), "</skill_content", "<\\/skill_content"))
	b.WriteByte('\n')
	if len(s.Tools) > 0 {
		b.WriteString("\nTools of this skill, for call_skill_tool:\n<skill_tools>\n")
		for _, t := range s.Tools {
			fmt.Fprintf(&b, "<tool name=\"%s\">%s", attribute.Replace(t.Name), escapeXML.Replace(oneLine(gate.Clean(t.Description))))
			if t.InputSchema != nil {
				fmt.Fprintf(&b, " Input: %s", escapeXML.Replace(string(t.InputSchema)))
			}
			b.WriteString("</tool>\n")
		}
		b.WriteString("</skill_tools>\n")
	}
	if len(a.Files) > 0 {
		b.WriteString("\nFiles of this skill; paths in the text are relative to it, and read_skill_file reads them:\n<skill_resources>\n")
		for _, f := range a.Files {
			fmt.Fprintf(&b, "<file>%s</file>\n", escapeXML.Replace(gate.Clean(f)))
		}
		switch {
		case !complete:
			fmt.Fprintf(&b, "and more than %d others\n", a.MoreFiles)
		case a.MoreFiles > 0:
			fmt.Fprintf(&b, "and %d others\n", a.MoreFiles)
		}
		b.WriteString("</skill_resources>\n")
	}
	b.WriteString("</skill_content>")
	return b.String()
}
