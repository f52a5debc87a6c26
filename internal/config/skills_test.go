package config

import "testing"

func TestPathsInContainers(t *testing.T) {
	for _, dir := range []string{"/mnt/skills", "/srv/a.b/c_d-e", "/opt", "/procession", "/var/lib/skills"} {
		if cfg := parse(t, `{"mcpServers": {}, "broker": {"skills": {"containerPath": "`+dir+`"}}}`); cfg.Broker.Skills.ContainerPath != dir {
			t.Errorf("%s is read as %q", dir, cfg.Broker.Skills.ContainerPath)
		}
	}
	for _, dir := range []string{"", "/", "//", "skills", "./x", "/mnt/", "/mnt//x", "/mnt/./x", "/mnt/../proc", "/a b", "/a:b", `C:\\x`, "/é", "/dev", "/dev/shm/x", "/sys/x", "/tmp/x", "/var", "/usr/bin", "/lib64", "/run/x"} {
		if _, err := Parse("servers.json", []byte(`{"mcpServers": {}, "broker": {"skills": {"containerPath": "`+dir+`"}}}`)); err == nil {
			t.Errorf("%q is taken", dir)
		}
	}
}
