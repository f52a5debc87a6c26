package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/gate"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// maxWorkflowBytes bounds a workflow.json, maxTopicsBytes the names of topics in
// the description of a tool.
const (
	maxWorkflowBytes = 1 << 20
	maxTopicsBytes   = 1000
)

// Workflow returns the skill's workflow: one defined in Go, or that of its present
// workflow.json, or nil. An error describes what is wrong with it.
func (s *Skill) Workflow() (*workflow.Workflow, error) {
	if s.virtual != nil && s.virtual.Workflow != nil {
		return s.virtual.Workflow, nil
	}
	files, done, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	w, err := readWorkflow(files)
	if err != nil {
		return nil, fmt.Errorf("skill %s: %w", quoted(s.Ref), err)
	}
	return w, nil
}

// AllTools are the tools of the skill: those that are defined in Go, and those of
// its workflow, which have no Handler. What a server serves has none.
func (s *Skill) AllTools() []Tool {
	list := slices.Clone(s.Tools)
	if s.remote != nil {
		return list
	}
	w, err := s.Workflow()
	if err != nil || w == nil {
		return list
	}
	for _, name := range w.Tools() {
		list = append(list, workflowTool(w, name))
	}
	return list
}

// workflowTool is a tool of a workflow.
func workflowTool(w *workflow.Workflow, name string) Tool {
	switch name {
	case workflow.ToolStart:
		return Tool{Name: name, Description: "Begin the workflow.", InputSchema: w.Params()}
	case workflow.ToolAdvance:
		return Tool{Name: name, Description: "Answer a step of the workflow.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"session":{"type":"string"},"answer":{}},"required":["session"]}`)}
	case workflow.ToolTopic:
		return Tool{Name: name, Description: "Look up a topic: " + gate.Cut(strings.Join(w.Topics(), ", "), maxTopicsBytes) + ".",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	}
	subskill := strings.TrimSuffix(name, "/"+workflow.ToolStart)
	return Tool{Name: name, Description: "Begin only the subskill " + subskill + ".", InputSchema: w.SubskillParams(subskill)}
}

// judgeWorkflow reports that the workflow.json beside a SKILL.md cannot be run.
func (d *Doc) judgeWorkflow(files fs.FS) {
	if _, err := readWorkflow(files); err != nil {
		d.found("workflow_invalid", 0, "%s", oneLineOf(err))
	}
}

// oneLineOf is an error of several lines in one.
func oneLineOf(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// readWorkflow reads the workflow.json of a folder, if there is one.
func readWorkflow(files fs.FS) (*workflow.Workflow, error) {
	data, err := readRegular(files, workflow.FileName, maxWorkflowBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case escapes(err):
		return nil, errors.New(workflow.FileName + " is a link that leads out of the skill")
	case err != nil:
		return nil, errors.New("cannot read " + workflow.FileName + ": " + cause(err))
	case len(data) > maxWorkflowBytes:
		return nil, fmt.Errorf("%s has more than %d bytes", workflow.FileName, maxWorkflowBytes)
	}
	return workflow.Parse(data)
}
