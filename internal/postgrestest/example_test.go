package postgrestest_test

import (
	"errors"
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/postgrestest"
)

func Example() {
	s, err := postgrestest.Start()
	if errors.Is(err, postgrestest.ErrNone) {
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Stop()
	fmt.Println(s.Address()) // connect there
}
