package jsrun

import (
	"errors"
	"fmt"

	"github.com/dop251/goja"

	"github.com/mcpbroker/mcpbroker/sandbox/jsrun/amend"
	"github.com/mcpbroker/mcpbroker/sandbox/script"
)

// A prepared program is ready to run. Its value is a function of the parameters of every script
// (see script.Tree) and of those below.
type prepared struct {
	*script.Tree
	program  *goja.Program
	needs    amend.Needs
	idle     string                          // note on a program that does nothing
	implicit bool                            // its result is the value of its last expression
	reads    map[script.Spot]script.ReadSite // nil if reads are not checked
}

// prepare compiles a program. The error, a *script.Refusal, is for the agent to read.
func prepare(p Program) (*prepared, error) {
	src, err := script.Read(p, amend.CaughtName, amend.QueueName, amend.EvalName, amend.JoinName)
	if err != nil {
		return nil, err
	}
	if tree := src.Plain(); tree != nil {
		if s, err := compile(tree); err == nil {
			return s, nil
		}
	}
	tree, err := src.Build(0)
	if err != nil {
		return nil, err
	}
	return compile(tree)
}

// compile determines the result of a whole script, and compiles it.
func compile(tree *script.Tree) (*prepared, error) {
	s := &prepared{Tree: tree}
	if s.Check != nil {
		s.reads = s.Reads()
	}
	var err error
	if s.needs, err = amend.Tree(tree); err != nil {
		return nil, err
	}
	s.idle = s.Idle()
	s.implicit = s.Finish()
	if s.program, err = goja.CompileAST(s.Root, false); err != nil {
		if wrong, ok := errors.AsType[*goja.CompilerSyntaxError](err); ok {
			p := wrong.File.Position(wrong.Offset)
			err = fmt.Errorf("%s at %s:%d:%d", wrong.Message, p.Filename, p.Line, s.Column(p.Line, p.Column))
		}
		return nil, s.Unsupported(err)
	}
	return s, nil
}
