package upstream

import (
	"os"
	"strings"
	"testing"
)

func TestMissingVariableIsNamed(t *testing.T) {
	cfg := Config{Name: "s", Command: "c", Env: map[string]string{"KEY": "${NOPE}"}}
	p := newPool(t, &Options{Expand: func(s string) (string, error) {
		if strings.Contains(s, "${NOPE}") {
			return "", os.ErrNotExist
		}
		return s, nil
	}}, cfg)
	if st := p.Refresh(t.Context())[0]; st.State != StateFailed || !strings.HasPrefix(st.Err.Error(), "in env.KEY, ") || st.Hint == "" {
		t.Errorf("status = %+v", st)
	}
}
