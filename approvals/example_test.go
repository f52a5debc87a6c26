package approvals_test

import (
	"fmt"
	"os"

	"github.com/mcpbroker/mcpbroker/approvals"
)

func Example() {
	dir, err := os.MkdirTemp("", "approvals")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store := approvals.In(approvals.InDir(dir))
	err = store.Approve(approvals.Approval{
		Kind: approvals.Project, Subject: "/work/.broker.json", Digest: "sha256:1f", Servers: []string{"tracker"}, By: "cli",
	})
	if err != nil {
		panic(err)
	}
	a, err := store.Get(approvals.Project, "/work/.broker.json")
	fmt.Println(a.Covers("sha256:1f"), a.Covers("sha256:2e"), a.Servers, err)
	// Output: true false [tracker] <nil>
}
