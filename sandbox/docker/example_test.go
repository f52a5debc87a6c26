package docker_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/sandbox/docker"
)

// Python needs an engine, and an image that "broker sandbox build" makes.
func ExampleNewPython() {
	runner := docker.NewPython(nil)
	defer runner.Close()
	result, err := runner.Run(context.Background(), sandbox.Request{Language: sandbox.Python, Code: "return 6 * 7"})
	switch {
	case errors.Is(err, docker.ErrNoEngine), errors.Is(err, docker.ErrNoImage):
		log.Print(err) // it says what to do
	case err != nil:
		log.Fatal(err)
	default:
		fmt.Println(string(result.Value))
	}
}
