package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/mcpbroker/mcpbroker/internal/jsonscan"
	"github.com/mcpbroker/mcpbroker/skills"
	"github.com/mcpbroker/mcpbroker/skills/library"
)

// A Skill is one in a list.
type Skill struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Version     string       `json:"version,omitempty"`
	License     string       `json:"license,omitempty"`
	Origin      string       `json:"origin"`
	Category    skills.Scope `json:"category"`
	Plugin      string       `json:"plugin,omitempty"`
	State       skills.State `json:"state"`
	Enabled     bool         `json:"enabled"`
	Model       bool         `json:"model_invocable"`
	User        bool         `json:"user_invocable"`
	// Location is where its SKILL.md is read, in this interface.
	Location    string              `json:"location"`
	Diagnostics []skills.Diagnostic `json:"diagnostics"`
}

// A SkillDetail is all about one skill.
type SkillDetail struct {
	Skill
	Compatibility string        `json:"compatibility,omitempty"`
	AllowedTools  []string      `json:"allowed_tools,omitempty"`
	ArgumentHint  string        `json:"argument_hint,omitempty"`
	Digest        string        `json:"digest,omitempty"` // unknown of some that servers serve
	Tools         []Tool        `json:"tools"`
	Files         []skills.File `json:"files"`
	// Complete is false if there are more files than are listed.
	Complete bool `json:"complete"`
}

// A Tool is one of a skill: one that is defined in Go, one of its workflow, or a
// script that may run.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
}

// A Remark is what is wrong with something that was found, by the name of its
// folder or file.
type Remark struct {
	At string `json:"at"`
	skills.Diagnostic
}

func remarks(problems []skills.Problem, hide func(string) string) []Remark {
	list := []Remark{}
	for _, p := range problems {
		p.Message = hide(p.Message)
		list = append(list, Remark{filepath.Base(p.Path), p.Diagnostic})
	}
	return list
}

func rowOf(k *skills.Skill) Skill {
	return Skill{
		Name: k.Ref, Description: k.Description, Version: k.Version, License: k.License, Origin: k.Origin(), Category: k.Scope, Plugin: k.Plugin,
		State: k.State, Enabled: k.State == skills.Enabled, Model: k.ModelInvocable, User: k.UserInvocable,
		Location: "/api/skills/" + url.PathEscape(k.Ref) + "/files/" + k.File(), Diagnostics: append([]skills.Diagnostic{}, k.Diagnostics...),
	}
}

func (s *server) listSkills(*http.Request) (int, any, error) {
	l := s.o.Library()
	now := l.Skills()
	rows := []Skill{}
	for _, k := range now.All() {
		rows = append(rows, rowOf(k))
	}
	return http.StatusOK, map[string]any{"skills": rows, "problems": remarks(now.Problems, l.Hider())}, nil
}

func (s *server) showSkill(r *http.Request) (int, any, error) {
	k, err := s.o.Library().Skills().Find(r.PathValue("name"))
	if err != nil {
		return 0, nil, err
	}
	d, err := s.detailOf(k.With(r.Context()))
	return http.StatusOK, d, err
}

func (s *server) detailOf(k *skills.Skill) (SkillDetail, error) {
	files, complete, err := k.Files()
	if err != nil {
		return SkillDetail{}, err
	}
	d := SkillDetail{
		Skill: rowOf(k), Compatibility: k.Compatibility, AllowedTools: k.AllowedTools, ArgumentHint: k.ArgumentHint, Digest: k.Digest(),
		Tools: []Tool{}, Files: append([]skills.File{}, files...), Complete: complete,
	}
	for _, t := range s.o.Tools(k) {
		d.Tools = append(d.Tools, Tool{t.Name, t.Description, t.InputSchema})
	}
	return d, nil
}

func (s *server) readFile(r *http.Request) (int, any, error) {
	k, err := s.o.Library().Skills().Find(r.PathValue("name"))
	if err != nil {
		return 0, nil, err
	}
	var at [2]int64
	for i, name := range []string{"offset", "limit"} {
		if text := r.URL.Query().Get(name); text != "" {
			if at[i], err = strconv.ParseInt(text, 10, 64); err != nil {
				return 0, nil, newProblem(http.StatusUnprocessableEntity, "bad_query", "%s is %.40q: use a number of bytes", name, text)
			}
		}
	}
	path := r.PathValue("path")
	page, err := k.With(r.Context()).ReadFile(path, at[0], at[1])
	if s.o.FileRead != nil {
		s.o.FileRead(k, clientOf(r), path, err)
	}
	return http.StatusOK, page, err
}

// A switched is the body of a PUT.
type switched struct {
	Enabled *bool `json:"enabled"`
}

// readSwitch reads the body of a PUT.
func readSwitch(r *http.Request) (on bool, err error) {
	var body switched
	if err := readBody(r, &body); err != nil {
		return false, err
	}
	if body.Enabled == nil {
		return false, newProblem(http.StatusUnprocessableEntity, "bad_body", `the body needs "enabled": {"enabled": true} or {"enabled": false}`)
	}
	return *body.Enabled, nil
}

func (s *server) switchSkill(r *http.Request) (int, any, error) {
	on, err := readSwitch(r)
	if err != nil {
		return 0, nil, err
	}
	k, err := s.library(r).SwitchSkill(r.PathValue("name"), on)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, rowOf(k), nil
}

func (s *server) removeSkill(r *http.Request) (int, any, error) {
	name := r.PathValue("name")
	if err := s.library(r).RemoveSkill(name); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]string{"removed": name}, nil
}

// An InstalledSkill answers the installation of a skill.
type InstalledSkill struct {
	Name     string   `json:"name"`
	Files    []string `json:"files"`
	Replaced bool     `json:"replaced"`
	// Skill is the one of that name, which another may shadow; null if it is not
	// found, because skills are off.
	Skill *Skill `json:"skill"`
	// Notes name the links that were left out.
	Notes []string `json:"notes"`
}

func (s *server) installSkill(r *http.Request) (int, any, error) {
	from, done, err := readSource(r, skills.MaxTotalBytes, false)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	l := s.library(r)
	got, err := l.InstallSkill(r.Context(), library.From{Path: from.Path, Upload: from.upload}, from.Force)
	if err != nil {
		return 0, nil, sourceProblem(err)
	}
	answer := InstalledSkill{Name: got.Name, Files: got.Files, Replaced: got.Replaced, Notes: append([]string{}, got.Notes...)}
	if k, err := l.Skills().Find(got.Name); err == nil {
		row := rowOf(k)
		answer.Skill = &row
	}
	return created(got.Replaced), answer, nil
}

func created(replaced bool) int {
	if replaced {
		return http.StatusOK
	}
	return http.StatusCreated
}

// sourceProblem tells a source that is not there from an address that is not.
func sourceProblem(err error) error {
	if e := library.Cause(err); e != nil && e.Code == "not_found" {
		return newProblem(http.StatusUnprocessableEntity, "source_not_found", "there is no file or folder at that path on the broker's machine")
	}
	return err
}

// readBody reads a small JSON object, of which no key may be unknown.
func readBody(r *http.Request, to any) error {
	if t := mediaType(r); t != "application/json" {
		return newProblem(http.StatusUnsupportedMediaType, "bad_content_type", `the body is %q: send JSON with "Content-Type: application/json"`, t)
	}
	dec := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxJSONBytes))
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	if err == nil {
		if _, end := dec.Token(); errors.Is(end, io.EOF) {
			return nil
		} else if _, large := errors.AsType[*http.MaxBytesError](end); large {
			err = end
		} else {
			err = errors.New("more than one value")
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, "too_large", "the body has more than %d bytes", maxJSONBytes)
	}
	if err != nil {
		return newProblem(http.StatusUnprocessableEntity, "bad_body", "the body is not what is wanted: %s: /api/openapi.json describes it", jsonscan.Explain(err))
	}
	return nil
}
