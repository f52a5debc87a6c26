package cli

import (
	"errors"
	"strings"
	"testing"
)

// What a command says to type has the flags of the command, so that it works when it is
// copied; the text of others stays as it is.
func TestHintsRepeatFlags(t *testing.T) {
	flags := []string{"--config", "my servers.json", "--state-dir", "/s%d"}
	const given = `--config 'my servers.json' --state-dir /s%d`
	foreign := "a server says: broker index"
	for name, tt := range map[string]struct {
		print func(*IO)
		want  string
	}{
		"a format":        {func(o *IO) { Fprintf(o.Out, "%d calls; to go on: broker runs resume %s\n", 2, "r_1") }, "2 calls; to go on: broker " + given + " runs resume r_1\n"},
		"two in a format": {func(o *IO) { Fprintf(o.Out, "broker index, then broker tools list\n") }, "broker " + given + " index, then broker " + given + " tools list\n"},
		"in quotes":       {func(o *IO) { Fprintf(o.Out, "(\"broker index\")\n") }, "(\"broker " + given + " index\")\n"},
		"a hint":          {func(o *IO) { Fprintln(o.Out, Hint("broker index waits for it")) }, "broker " + given + " index waits for it\n"},
		"a hint as a cell": {func(o *IO) {
			_ = NewTable("A", func(h Hint) []any { return []any{h} }).Print(o.Out, []Hint{"broker index"})
		}, "A\nbroker " + given + " index\n"},
		"an error": {func(o *IO) { FprintError(o.Out, "broker: ", Usagef("%s failed\nhint: broker tools list", foreign)) },
			"broker: a server says: broker index failed\nhint: broker " + given + " tools list\n"},
		"text of others":         {func(o *IO) { Fprintf(o.Out, "%s, %v, %s\n", foreign, errors.New(foreign), Lines(foreign)) }, foreign + ", " + foreign + ", " + foreign + "\n"},
		"the broker in a phrase": {func(o *IO) { Fprintf(o.Out, "the broker runs it; broker-worker, /bin/broker index, a broker serve\n") }, "the broker runs it; broker-worker, /bin/broker index, a broker serve\n"},
		"no command of it":       {func(o *IO) { Fprintf(o.Out, "broker indexes\n") }, "broker indexes\n"},
		"what a script prints":   {func(o *IO) { _, _ = Exact(o.Out).Write([]byte("broker index\n")) }, "broker index\n"},
	} {
		var out strings.Builder
		o := &IO{Out: &out, Err: &out}
		flush := o.Filter()
		o.RepeatFlags([]string{"index", "runs", "tools", "serve"}, func() []string { return flags })
		tt.print(o)
		flush()
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, out.String(), tt.want)
		}
		out.Reset()
		o.RepeatFlags([]string{"index", "runs", "tools", "serve"}, func() []string { return nil })
		tt.print(o)
		flush()
		if want := strings.ReplaceAll(tt.want, " "+given, ""); out.String() != want {
			t.Errorf("%s, without flags: %q, want %q", name, out.String(), want)
		}
	}
}
