package fakeupstream

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// WriteSkillKit writes a skill in the form that contentful/skill-kit generates to dir/greeter: a
// SKILL.md that names its MCP tools, and scripts/run, which with the argument mcp is a server on
// stdio. It returns the path of the latter.
//
// The forms are those of skill-kit v1.10.1, src/protocol/mcp-*.ts.
func WriteSkillKit(dir string) (run string, err error) {
	home := filepath.Join(dir, "greeter")
	if err := os.MkdirAll(filepath.Join(home, "scripts"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(home, "SKILL.md"), []byte(skillKitText), 0o600); err != nil {
		return "", err
	}
	run = filepath.Join(home, "scripts", "run")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' %s \"$@\"\n", strings.ReplaceAll(Command(), "'", `'\''`), strings.Join(Args(SkillKit), " "))
	return run, os.WriteFile(run, []byte(script), 0o700)
}

const skillKitText = `---
name: greeter
description: 'Greets people and mends what is broken. Use when somebody comes.'
metadata:
  version: '1.0.0'
allowed-tools: 'Bash(scripts/run *) Read mcp__greeter__start mcp__greeter__advance mcp__greeter__topic'
---

# greeter

This skill is a structured workflow. Use its MCP tools if you have them, and scripts/run otherwise.
`

// runSkillKit implements scripts/run.
func runSkillKit(args []string) error {
	if len(args) == 0 || args[0] != "mcp" {
		return errors.New("this skill only speaks MCP: run it with the argument mcp")
	}
	err := newSkillKit().Run(context.Background(), &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A skillKit contains the sessions of the server.
type skillKit struct {
	mu       sync.Mutex
	sessions map[string]string // the step of each session; "" when it is over
}

type skillKitResult map[string]any

func newSkillKit() *mcp.Server {
	k := &skillKit{sessions: map[string]string{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, &mcp.ServerOptions{Instructions: "Call start.", Capabilities: &mcp.ServerCapabilities{}})
	add := func(name, description, schema string, h func(in skillKitInput) (skillKitResult, bool)) {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var in skillKitInput
				if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
					return nil, err
				}
				res, failed := h(in)
				data, err := json.Marshal(res)
				if err != nil {
					return nil, err
				}
				r := text(string(data))
				r.IsError = failed
				return r, nil
			})
	}
	const record = `{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{}}`
	add("start", "Start a new greeter workflow session. Returns the first step prompt.",
		`{"type":"object","properties":{"params":`+record+`},"$schema":"http://json-schema.org/draft-07/schema#"}`, k.start)
	add("advance", "Submit step output for the current greeter workflow step and get the next prompt.",
		`{"type":"object","properties":{"session":{"type":"string"},"step":{"type":"string"},"output":`+record+`},"required":["session","step","output"],"$schema":"http://json-schema.org/draft-07/schema#"}`, k.advance)
	add("topic", "Look up a reference topic. Available: rate-limits",
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"$schema":"http://json-schema.org/draft-07/schema#"}`, topic)
	return s
}

type skillKitInput struct {
	Params              map[string]any
	Session, Step, Name string
	Output              map[string]any
}

var (
	greetSchema    = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	diagnoseSchema = json.RawMessage(`{"type":"object","properties":{"issues":{"type":"array"}},"required":["issues"]}`)
)

func prompt(session, step, text string, schema json.RawMessage) skillKitResult {
	return skillKitResult{"session": session, "status": "prompt", "step": step, "prompt": "<prompt>" + text + "</prompt>", "schema": schema}
}

func (k *skillKit) start(in skillKitInput) (skillKitResult, bool) {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	id := hex.EncodeToString(b[:])
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sessions[id] = "greet"
	greeting := "Hey there!"
	if g, ok := in.Params["greeting"].(string); ok {
		greeting = g
	}
	r := prompt(id, "greet", greeting+" Ask for the name.", greetSchema)
	r["preamble"] = "You are following a structured workflow driven by a skill CLI."
	return r, false
}

// advance reports mistakes as results, not as errors of the protocol. A visitor called help enters
// a subskill, which the answers do not mention.
func (k *skillKit) advance(in skillKitInput) (skillKitResult, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	fail := func(retry bool, message string) (skillKitResult, bool) {
		return skillKitResult{"session": in.Session, "status": "error", "step": in.Step, "message": message, "retry": retry}, false
	}
	done := func(final any) (skillKitResult, bool) {
		delete(k.sessions, in.Session)
		return skillKitResult{"session": in.Session, "status": "done", "finalOutput": final}, false
	}
	switch step, ok := k.sessions[in.Session]; {
	case !ok:
		return fail(false, fmt.Sprintf("Unknown session %q. Call the start tool to begin a new workflow.", in.Session))
	case in.Step != step:
		return fail(true, fmt.Sprintf("Expected step %q.", step))
	case step == "greet":
		name, ok := in.Output["name"].(string)
		if !ok {
			return fail(true, "name: name must be a string (was missing)")
		}
		if name == "help" {
			k.sessions[in.Session] = "doctor/diagnose"
			return prompt(in.Session, "doctor/diagnose", "List what is broken.", diagnoseSchema), false
		}
		return done(map[string]string{"card": "Hello, " + name + "!"})
	default:
		return done(map[string]any{"mended": in.Output["issues"]})
	}
}

func topic(in skillKitInput) (skillKitResult, bool) {
	if in.Name != "rate-limits" {
		return skillKitResult{"error": fmt.Sprintf("Unknown topic %q. Available: rate-limits", in.Name)}, true
	}
	return skillKitResult{"name": in.Name, "content": "Seven requests a second."}, false
}
