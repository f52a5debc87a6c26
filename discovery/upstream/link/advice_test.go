package link

import (
	"runtime"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery/hide"
)

func TestCommandByHandIsQuoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("cmd.exe quotes otherwise")
	}
	d := adviser{server: Server{Command: "/opt/my server/run", Args: []string{"-y", "@a/b@1.2", "it's; rm", "", "*", "k=${TOKEN}$(x)", "s3cret value", "\"q\""}}}
	want := `'/opt/my server/run' -y @a/b@1.2 'it'\''s; rm' '' '*' "k=${TOKEN}\$(x)" '[args[6]]' '"q"'`
	if got := d.byHand(hide.New(map[string]string{"s3cret value": "[args[6]]"})); got != want {
		t.Errorf("byHand = %s\nwant     %s", got, want)
	}
}
