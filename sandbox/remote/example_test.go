package remote_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/remote"
)

// Programs run at one of two servers, whichever is less busy.
func ExampleNew() {
	runner := remote.New(remote.Options{
		Addresses: []string{"sandbox-1.example:7443", "sandbox-2.example:7443"},
		Files:     remote.Files{CA: "ca.pem", Cert: "broker.pem", Key: "broker-key.pem"},
	})
	defer runner.Close()
	result, err := runner.Run(context.Background(), sandbox.Request{Code: "return 6 * 7"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(result.Value))
}
