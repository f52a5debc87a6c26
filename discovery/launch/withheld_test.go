package launch

import (
	"slices"
	"testing"
)

func TestWithheld(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/home/a", "KUBECONFIG=/home/a/kube", "AWS_PROFILE=dev", "SSH_AUTH_SOCK=/run/agent", "GOOGLE_APPLICATION_CREDENTIALS=/home/a/key.json",
		"DOCKER_HOST=ssh://me@host", "NODE_EXTRA_CA_CERTS=/ca.pem", "HTTPS_PROXY=http://u:p@proxy", "HTTP_PROXY=http://proxy", "VAULT_ADDR=", "MY_OWN=1",
	}
	for _, c := range []struct {
		configured map[string]string
		want       []string
	}{
		{nil, []string{"AWS_PROFILE", "DOCKER_HOST", "GOOGLE_APPLICATION_CREDENTIALS", "HTTPS_PROXY", "KUBECONFIG", "SSH_AUTH_SOCK"}},
		{map[string]string{"KUBECONFIG": "${KUBECONFIG}", "DOCKER_HOST": "unix:///x", "AWS_PROFILE": ""}, []string{"GOOGLE_APPLICATION_CREDENTIALS", "HTTPS_PROXY", "SSH_AUTH_SOCK"}},
	} {
		if got := Withheld(environ, c.configured); !slices.Equal(got, c.want) {
			t.Errorf("Withheld(%v) = %q, want %q", c.configured, got, c.want)
		}
	}
	if got := Withheld([]string{"PATH=/bin", "NODE_EXTRA_CA_CERTS=/ca.pem", "DOCKER_HOST=unix:///x"}, nil); len(got) > 0 {
		t.Errorf("of what a server gets, %q is withheld", got)
	}
}
