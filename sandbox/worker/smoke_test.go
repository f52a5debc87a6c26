package worker_test

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

func TestSmoke(t *testing.T) {
	r := worker.New(nil)
	defer r.Close()
	for range 5 {
		res, err := r.Run(t.Context(), sandbox.Request{Code: "return 1+1"})
		t.Logf("%+v %v", res, err)
	}
}
