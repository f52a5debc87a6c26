package remote

import (
	"context"
	"fmt"
	"net"
	"os"
)

const argServer = "sandboxd"

// serverMain is a server in a process of its own: it prints its address.
func serverMain(args []string) {
	s, err := NewServer(context.Background(), ServerOptions{Files: Files{args[0], args[1], args[2]}, Build: "test"})
	if err == nil {
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			fmt.Println(l.Addr())
			err = s.Serve(l)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
