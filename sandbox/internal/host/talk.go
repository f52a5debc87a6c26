package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/wire"
)

// Greet says hello to a runner and waits until it is ready. It returns what
// contains the runner by then, as it says itself.
func Greet(r *wire.Reader, w *wire.Writer, hello wire.Hello) ([]sandbox.Layer, error) {
	text, err := wire.Marshal(hello)
	if err != nil {
		return nil, err
	}
	if err := w.Write(wire.TypeHello, 0, text); err != nil {
		return nil, fmt.Errorf("say hello: %w", err)
	}
	return Ready(r.Next())
}

// Ready reads the frame with which a runner, or a relay, answers hello. It returns
// what contains the runner by then, as it says itself.
func Ready(f wire.Frame, err error) ([]sandbox.Layer, error) {
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it ended before it was ready")
	case err != nil:
		return nil, fmt.Errorf("wait for ready: %w", err)
	case f.Type == wire.TypeError:
		return nil, wire.DecodeError(f.Payload)
	case f.Type != wire.TypeReady:
		return nil, fmt.Errorf("wait for ready: it sent %s", f.Type)
	}
	ready, err := wire.DecodeReady(f.Payload)
	return ready.Layers, err
}

// A Talk is the host's side of one program that runs behind frames, in a
// process or a container that has said that it is ready.
type Talk struct {
	Request        *sandbox.Request
	Limits         sandbox.Limits // of the request, with defaults
	R              *wire.Reader
	W              *wire.Writer
	Calls          *Calls
	Stdout, Stderr *Output
	// FilesDir is where the program finds the files of its request, if it does.
	FilesDir string
	// Amend changes what the runner is sent of the program; nil changes nothing.
	Amend func(*wire.Exec)

	// Killed receives a relay's report about the process; nil without a relay.
	Killed *wire.Killed

	// Heard says, after Run, whether the runner has said anything.
	Heard bool

	surveyed bool   // the program was checked
	steps    []byte // of the next call
}

// ErrGone means that the runner ended without saying how its program ended.
var ErrGone = fmt.Errorf("the process ended: %w", io.EOF)

// A ProtocolError is a frame that a runner in its right mind does not send.
type ProtocolError struct{ Err error }

func (e *ProtocolError) Error() string { return e.Err.Error() }
func (e *ProtocolError) Unwrap() error { return e.Err }

// Run sends the program and handles frames until it has ended. An error is
// ErrGone, a *ProtocolError, or that the request cannot be sent. It blocks as
// long as the runner is silent: who ends the run ends the streams.
func (t *Talk) Run(ctx context.Context) (wire.Done, error) {
	language := t.Request.Language
	if language == "" {
		language = sandbox.TypeScript
	}
	program := wire.Exec{
		Language:    language,
		Code:        t.Request.Code,
		File:        t.Request.File,
		Modules:     t.Request.Modules,
		ModuleNames: t.Request.ModuleNames,
		Scope:       t.Request.Scope,
		Timeout:     t.Limits.Timeout,
		Grace:       min(t.Limits.Grace, t.Limits.Timeout),
		ResultBytes: t.Limits.ResultBytes,
		Check:       t.Request.Check != nil,
		CheckSource: t.Request.CheckSource,
		Lines:       true,
		FilesDir:    t.FilesDir,
	}
	if t.Calls.Journal != nil {
		program.Journal = t.Calls.Journal
	}
	if t.Amend != nil {
		t.Amend(&program)
	}
	exec, err := wire.Marshal(program)
	if err != nil {
		return wire.Done{}, err
	}
	// A runner that does not read cannot block the host here or below for
	// longer than it lives, and the clock bounds that.
	if err := t.W.Write(wire.TypeExec, 0, exec); err != nil {
		return wire.Done{}, ErrGone
	}
	t.R.SetMax(t.Limits.ResultBytes + wire.Slack)
	for {
		f, err := t.R.Next()
		if err != nil {
			if _, tooLong := errors.AsType[*wire.SizeError](err); tooLong {
				return wire.Done{}, &ProtocolError{err}
			}
			return wire.Done{}, ErrGone
		}
		t.Heard = true
		if f.Type == wire.TypeDone {
			done, err := wire.DecodeDone(f.Payload)
			if err != nil {
				return wire.Done{}, &ProtocolError{err}
			}
			return done, nil
		}
		if err := t.handle(ctx, f); err != nil {
			return wire.Done{}, &ProtocolError{err}
		}
	}
}

// handle does what one frame of a running program asks for.
func (t *Talk) handle(ctx context.Context, f wire.Frame) error {
	switch f.Type {
	case wire.TypeStdout:
		t.Stdout.Print(f.Payload)
	case wire.TypeStderr:
		t.Stderr.Print(f.Payload)
	case wire.TypeCall:
		return t.call(ctx, f)
	case wire.TypeSurvey:
		return t.check(ctx, f)
	case wire.TypeSteps:
		t.steps = f.Payload
	case wire.TypeKilled:
		if t.Killed == nil {
			return fmt.Errorf("unexpected frame from the runner: %s", f.Type)
		}
		return json.Unmarshal(f.Payload, t.Killed)
	case wire.TypeReplayed:
		if j := t.Calls.Journal; j != nil && j.Replayed != nil && int(f.ID) <= len(j.Calls) {
			j.Replayed(int(f.ID))
		}
	default:
		return fmt.Errorf("unexpected frame from a running program: %s", f.Type)
	}
	return nil
}

// call starts one host call. It comes back when there is room for the next
// one, so that a program that calls and calls is held back by its own calls.
func (t *Talk) call(ctx context.Context, f wire.Frame) error {
	c, err := wire.DecodeCall(f.Payload)
	if err != nil {
		return err
	}
	id := f.ID
	if t.Calls.Journal != nil {
		c.Seq, c.Steps, t.steps = int(id), t.steps, nil
	}
	t.Calls.Start(c, func(value json.RawMessage, err error) {
		// A run that is being ended ends for that reason, not for the errors
		// that its calls end with. A write fails only when the runner is
		// gone, which Run sees.
		if ctx.Err() != nil {
			return
		}
		if err == sandbox.ErrWithheld {
			t.W.Write(wire.TypeWithheld, id)
			return
		}
		if err != nil {
			t.W.WriteError(id, err)
			return
		}
		t.W.Write(wire.TypeResult, id, value)
	})
	t.Calls.Room()
	return nil
}

// check answers the one survey of a program, which waits for it.
func (t *Talk) check(ctx context.Context, f wire.Frame) error {
	if t.Request.Check == nil || t.surveyed {
		return errors.New("survey was not asked for")
	}
	t.surveyed = true
	var p sandbox.Parsed
	if err := json.Unmarshal(f.Payload, &p); err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	if p.Source != "" && !t.Request.CheckSource {
		return errors.New("survey has the source, which was not asked for")
	}
	raw, err := wire.Marshal(t.Request.Check(ctx, p))
	if err != nil {
		return err
	}
	t.W.Write(wire.TypeVerdict, 0, raw) // fails only when the runner is gone, which Run sees
	return nil
}

// TellClock lets the runner's clock follow the host's. A write fails only when
// the runner is gone, which Run sees.
func (t *Talk) TellClock(paused bool) {
	f := wire.TypeResume
	if paused {
		f = wire.TypePause
	}
	t.W.Write(f, 0)
}
