package sandbox

import "context"

type pauseKey struct{}

// Pause stops the clock of a run while one of its calls waits for a person. ctx
// is the context that the CallFunc was given, or one made from it. The run's
// time goes on when resume has been called as often as Pause was; each resume
// counts once. How long a pause lasts is the caller's to bound: nothing else
// does. Outside of a run, Pause does nothing. It is safe for concurrent use.
//
// Processor time is not given back: a program that computes during a pause can
// use as much of it as without one, where the runner bounds that.
func Pause(ctx context.Context) (resume func()) {
	if pause, ok := ctx.Value(pauseKey{}).(func() func()); ok {
		return pause()
	}
	return func() {}
}

// WithPause returns a context for the calls of a run, in which Pause calls
// pause. It is for runners.
func WithPause(ctx context.Context, pause func() (resume func())) context.Context {
	return context.WithValue(ctx, pauseKey{}, pause)
}
