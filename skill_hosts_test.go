package mcpbroker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/internal/config"
	"github.com/mcpbroker/mcpbroker/skills/workflow"
)

// The config takes the hosts whose tools workflows know, and names them to those
// who write another one.
func TestSkillHostsAreThoseOfWorkflows(t *testing.T) {
	parse := func(host string) error {
		_, err := config.Parse("servers.json", fmt.Appendf(nil, `{"mcpServers": {}, "broker": {"skills": {"host": %q}}}`, host))
		return err
	}
	unknown := parse("some-editor")
	if unknown == nil {
		t.Fatal("an unknown host is taken")
	}
	for _, host := range workflow.Hosts() {
		if err := parse(host); err != nil || !strings.Contains(unknown.Error(), host) {
			t.Errorf("%s: %v, and of an unknown one: %v", host, err, unknown)
		}
	}
	if n := strings.Count(unknown.Error(), ","); n != len(workflow.Hosts())-1 && n != len(workflow.Hosts())-2 {
		t.Errorf("the config takes others than %v: %v", workflow.Hosts(), unknown)
	}
}
