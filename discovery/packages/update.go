package packages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/gate"
)

// An Update is a newer version of a package that is installed and not used yet.
type Update struct{ Package, Old, New string }

// A Review reports an error if an update must wait for a person. It is called in the
// background.
type Review func(ctx context.Context, u Update) error

// A Held is a newer version that is not used.
type Held struct {
	Version string `json:"version"`
	Why     string `json:"why"`
	// Unfit is set if the version does not run on this machine, so that it cannot be
	// accepted.
	Unfit bool `json:"unfit,omitempty"`
}

// reviewLimit bounds the reviews of an update.
const reviewLimit = 3 * time.Minute

// maxWhy bounds the text of a Held, in characters.
const maxWhy = 400

func (s *Store) addReview(r request, server string, review Review) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.root + r.asked(r.Version)
	if s.reviews[key] == nil {
		s.reviews[key] = make(map[string]Review)
	}
	s.reviews[key][server] = review
}

// Held returns the newer version of a package that is not used, or nil.
func (s *Store) Held(spec Spec) *Held {
	k := s.known(spec)
	if spec.Exact() || k.Held == nil || k.Held.Version == k.Version {
		return nil
	}
	return k.Held
}

// Accept makes the held version of a package the one in use from the next start on.
func (s *Store) Accept(spec Spec) (version string, err error) {
	k := s.known(spec)
	switch {
	case k.Held == nil:
		return "", errors.New("no newer version is held back")
	case k.Held.Unfit:
		return "", fmt.Errorf("%s: %s", k.Held.Version, k.Held.Why)
	}
	return k.Held.Version, s.note(spec, s.root(spec), known{Version: k.Held.Version, Checked: k.Checked})
}

// check asks the registry for a newer version, installs it beside the old one, and uses
// it from the next start on if all reviews agree. It does so once a day, whatever the
// outcome.
func (s *Store) check(r request) error {
	k := s.known(r.Spec)
	if time.Since(k.Checked) < checkEvery {
		return nil // another process has done it
	}
	old := k.Version
	version, skipped, err := s.newest(s.ctx, r, old)
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	k.Checked = time.Now()
	if err != nil {
		return errors.Join(err, s.note(r.Spec, r.root, k))
	}
	k.Held = nil
	if newer, why, ok := cutWord(skipped); ok {
		k.Held = &Held{Version: newer, Why: why, Unfit: true}
		s.log.Info("a newer version does not run here", "package", r.Name, "version", newer, "why", why)
	}
	if version == "" || version == old {
		return s.note(r.Spec, r.root, k)
	}
	err = s.ensure(s.ctx, r, version)
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err != nil {
		k.Held = &Held{Version: version, Why: "cannot be installed: " + gate.Cut(gate.Line(err.Error()), maxWhy), Unfit: true}
		return errors.Join(err, s.note(r.Spec, r.root, k))
	}
	if err := s.review(r, old, version); err != nil {
		k.Held = &Held{Version: version, Why: gate.Cut(gate.Line(err.Error()), maxWhy)}
		s.log.Warn("a newer version is held back", "package", r.Name, "old", old, "new", version, "why", k.Held.Why, "accept", "broker servers update SERVER")
		return s.note(r.Spec, r.root, k)
	}
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	k.Version = version
	s.log.Info("a newer version is used from the next start on", "package", r.Name, "old", old, "new", version)
	return s.note(r.Spec, r.root, k)
}

// cutWord returns the first word of text and the rest.
func cutWord(text string) (word, rest string, ok bool) {
	for i := range len(text) {
		if text[i] == ' ' {
			return text[:i], text[i+1:], true
		}
	}
	return "", "", false
}

// CommandAt is Command for an installed version, which need not be the one in use.
func (s *Store) CommandAt(ctx context.Context, c launch.Command, version string) (launch.Command, error) {
	spec, err := Parse(c.Program, c.Args)
	if err != nil {
		return c, err
	}
	c = s.withData(ctx, c, spec)
	r, err := s.request(ctx, c, spec)
	if err != nil {
		return c, err
	}
	return r.command(r.dir(version))
}

// review asks the reviews of all servers that use the package.
func (s *Store) review(r request, old, version string) error {
	s.mu.Lock()
	var all []Review
	for _, f := range s.reviews[r.root+r.asked(r.Version)] {
		all = append(all, f)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(s.ctx, reviewLimit, errors.New("its tools were not listed in time"))
	defer cancel()
	for _, f := range all {
		if err := f(ctx, Update{Package: r.Name, Old: old, New: version}); err != nil {
			return err
		}
	}
	return nil
}

// newest asks the registry when no installation is running.
func (s *Store) newest(ctx context.Context, r request, old string) (version, skipped string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", "", context.Cause(ctx)
	}
	version, skipped, err = r.newest(ctx, old)
	if err == nil && version != "" && !(Spec{Runner: r.Runner, Version: version}).Exact() {
		err = errors.New("the registry names no version")
	}
	return version, skipped, err
}
