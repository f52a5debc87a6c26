package extensions

import (
	"github.com/mcpbroker/mcpbroker/approvals"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/script"
)

// An Approval is what "broker skills approve" has done, or would do.
type Approval struct {
	Name     string   `json:"name"`
	Origin   string   `json:"origin"`
	Path     string   `json:"path"`
	Digest   string   `json:"digest"`
	Before   string   `json:"digest_before,omitempty"` // what was approved before, if that is another one
	Scripts  []string `json:"scripts"`
	Approved bool     `json:"approved"`
	Kept     string   `json:"kept_in"`
}

// ApprovalOf says what is and would be allowed.
func ApprovalOf(k *skills.Skill, switches skills.Switchboard) (Approval, error) {
	row := Approval{Name: k.ID(), Origin: k.Origin(), Path: k.Dir(), Kept: switches.String(), Scripts: []string{}}
	bundle, err := k.Bundle()
	if err != nil {
		return row, err
	}
	row.Digest = bundle.Digest
	given, err := approvals.In(switches).Get(approvals.Script, k.ID())
	if err != nil {
		return row, err
	}
	if row.Approved = given.Covers(row.Digest); !row.Approved {
		row.Before = given.Digest
	}
	files, done, err := k.Open()
	if err != nil {
		return row, err
	}
	defer done()
	text := ""
	if doc, err := k.Doc(); err == nil {
		text = doc.Body
	}
	var paths []string
	for _, f := range bundle.Files {
		paths = append(paths, f.Path)
	}
	listed := script.List(files, paths, text)
	for _, s := range listed {
		row.Scripts = append(row.Scripts, s.Path)
	}
	return row, nil
}
