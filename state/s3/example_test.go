package s3_test

import (
	"fmt"

	"github.com/mcpbroker/mcpbroker/state/s3"
)

func Example() {
	o, err := s3.Parse("s3://results/broker?region=${REGION}&accessKey=${ID}&secretKey=${SECRET}", func(string) (string, error) { return "expanded", nil }, none)
	fmt.Println(o.Bucket, o.Prefix, err)
	_ = s3.New(o) // connects when it is used first
	// Output: results broker <nil>
}
