package quota_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbroker/mcpbroker/broker/quota"
	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/policy"
)

func Example() {
	l := quota.New([]*quota.Rule{{Per: []quota.Dimension{quota.User}, Amount: 1, Every: time.Hour, Burst: 1}}, nil, nil)
	defer l.Close()
	send := policy.NewTool(discovery.Listing{Server: "mail"}, "send")
	for _, user := range []string{"ann", "bob", "ann"} {
		_, err := l.Take(context.Background(), quota.Call{User: user, Tool: send})
		_, spent := errors.AsType[*quota.Spent](err)
		fmt.Println(user, err == nil, spent)
	}
	// Output:
	// ann true false
	// bob true false
	// ann false true
}
