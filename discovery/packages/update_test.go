package packages

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/eventually"
)

// The newest version is the one that npm would install on this machine.
func TestNewestVersionRunsHere(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	for name, c := range map[string]struct{ last, asked, want, skipped string }{
		"plain": {`, "engines": {"node": ">=99"}`, "", "1.1.0", "2.0.0 needs Node.js >=99, this is "},
		"tag":   {`, "os": ["none"]`, "@latest", "", "2.0.0 is for the system none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for version, rest := range map[string]string{"1.0.0": "", "1.1.0": ""} {
				r.publish(t, name, version, rest, map[string]string{})
			}
			r.publish(t, name, "2.0.0", c.last, map[string]string{})
			command := r.command(t, name+c.asked)
			spec, err := Parse(command.Program, command.Args)
			if err != nil {
				t.Fatal(err)
			}
			n, err := newNPM(command, spec, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			version, skipped, err := n.newest(t.Context(), "1.0.0")
			if err != nil || version != c.want || !strings.HasPrefix(skipped, c.skipped) {
				t.Errorf("newest = %q, %q, %v, want %q, %q", version, skipped, err, c.want, c.skipped)
			}
		})
	}
}

func TestPickAsNPM(t *testing.T) {
	here := machine{node: "20.20.2", os: "linux", cpu: "x64", libc: "glibc"}
	for text, want := range map[string]string{
		`[{"version": "1.9.0"}, {"version": "1.10.0"}, {"version": "1.2.0"}]`:                                                                               "1.10.0",
		`[{"version": "1.0.0"}, {"version": "2.0.0", "engines": {"node": ">=22"}}]`:                                                                         "1.0.0; 2.0.0 needs Node.js >=22, this is 20.20.2",
		`[{"version": "1.0.0", "dist-tags.latest": "1.0.0"}, {"version": "2.0.0", "dist-tags.latest": "1.0.0"}]`:                                            "1.0.0",
		`[{"version": "1.0.0"}, {"version": "1.1.0", "deprecated": "broken"}]`:                                                                              "1.0.0",
		`[{"version": "1.0.0", "deprecated": "a"}, {"version": "1.1.0", "deprecated": "b"}]`:                                                                "1.1.0",
		`[{"version": "2.0.0", "os": ["darwin"], "dist-tags.latest": "2.0.0"}]`:                                                                             "; 2.0.0 is for the system darwin, this is linux",
		`[{"version": "1.0.0", "dist-tags.latest": "2.0.0"}, {"version": "2.0.0-rc.1", "dist-tags.latest": "2.0.0"}, {"version": "2.0.0", "libc": "musl"}]`: "2.0.0-rc.1; 2.0.0 is for the C library musl, this is glibc",
	} {
		var list []release
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		version, skipped, err := pick(list, here)
		got := version
		if skipped != "" {
			got += "; " + skipped
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}

// An update that a review refuses waits for a person, whichever server refuses it.
func TestRefusedUpdateWaits(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.publishGreeter(t, "greeter", "1.0.0")
	c := r.command(t, "greeter")
	spec, _ := Parse(c.Program, c.Args)
	s := newStore(t, t.TempDir())
	s.delay = 0
	agree := func(context.Context, Update) error { return nil }
	refuse := func(ctx context.Context, u Update) error {
		next, err := s.CommandAt(ctx, c, u.New)
		if err != nil {
			return err
		}
		return errors.New("it prints " + prints(t, next) + ", not " + u.Old)
	}
	if _, err := s.ReviewedCommand(t.Context(), c, "a", agree); err != nil {
		t.Fatal(err)
	}
	if s.Held(spec) != nil {
		t.Errorf("held at once: %+v", s.Held(spec))
	}
	if _, err := s.Accept(spec); err == nil {
		t.Error("nothing is held, and it is accepted")
	}
	r.publishGreeter(t, "greeter", "1.1.0")
	age(t, s, spec)
	s.addReview(request{Spec: spec, root: s.root(spec)}, "b", refuse)
	if _, err := s.ReviewedCommand(t.Context(), c, "a", agree); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the update is held", func() bool { return s.Held(spec) != nil })
	if held := *s.Held(spec); held != (Held{Version: "1.1.0", Why: "it prints 1.1.0, not 1.0.0"}) || s.Version(spec) != "1.0.0" {
		t.Errorf("held %+v, version %s", held, s.Version(spec))
	}
	version, err := s.Accept(spec)
	if err != nil || version != "1.1.0" || s.Held(spec) != nil {
		t.Errorf("Accept = %q, %v; held %+v", version, err, s.Held(spec))
	}
	if direct, err := s.Command(t.Context(), c); err != nil || prints(t, direct) != "1.1.0" {
		t.Errorf("after it was accepted: %v", err)
	}
}
