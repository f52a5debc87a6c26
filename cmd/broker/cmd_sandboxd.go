package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpbroker/mcpbroker/internal/app/host"
	"github.com/mcpbroker/mcpbroker/internal/cli"
	"github.com/mcpbroker/mcpbroker/sandbox/remote"
	"github.com/mcpbroker/mcpbroker/sandbox/worker"
)

// sandboxdOptions are the options of broker sandboxd.
type sandboxdOptions struct {
	memory int64
	host   host.SandboxdOptions
}

func sandboxdCommand(e *env) *cobra.Command {
	o := &sandboxdOptions{host: host.SandboxdOptions{ServerOptions: remote.ServerOptions{Worker: new(worker.Options), Build: version}}}
	c := &cobra.Command{
		Use:   "sandboxd",
		Short: "Run the scripts of brokers on other machines, each in a contained process",
		Long: "Run the scripts of brokers on other machines, each in a contained process of this one. It reads no config and keeps no state. Brokers name it in\n" +
			"\"remote\" of \"sandbox\"; both sides have certificates. A broker goes on making the calls: no script can reach the network from here.\n" +
			"After SIGTERM it takes no more scripts and finishes those that run. With --health, /healthz, /readyz and /metrics report on it.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&o.host.Addr, "listen", "", "listen on this address, such as 0.0.0.0:9443")
	f.StringVar(&o.host.Files.Cert, "cert", "", "the certificate, a PEM file")
	f.StringVar(&o.host.Files.Key, "key", "", "the private key of --cert, a PEM file")
	f.StringVar(&o.host.Files.CA, "client-ca", "", "the CA certificates that sign the certificates of brokers, a PEM file")
	f.StringVar(&o.host.Health, "health", "", "listen on this address too, such as 0.0.0.0:9465, for probes and Prometheus, without TLS")
	f.IntVar(&o.host.Executions, "max-executions", 0, "how many scripts run at one time; 0 is four for each processor, 8 to 64")
	f.Int64Var(&o.memory, "max-memory", 1024, "the most memory that a broker may ask for, for one script, in MiB")
	cli.TimeVar(f, &o.host.Timeout, "max-timeout", "the most time that a broker may ask for, for one script; 10m if it is not given")
	f.StringSliceVar(&o.host.Worker.Require, "require", nil, "refuse to start without these layers: seccomp, landlock, memory")
	f.DurationVar(&o.host.Drain, "drain", 2*time.Minute, "wait at most this long for scripts to finish after SIGTERM")
	return c
}

func (o *sandboxdOptions) run(ctx context.Context, e *env) error {
	for flag, value := range map[string]string{"listen": o.host.Addr, "cert": o.host.Files.Cert, "key": o.host.Files.Key, "client-ca": o.host.Files.CA} {
		if value == "" {
			return cli.Usagef("--%s is missing\nhint: broker sandboxd --listen 0.0.0.0:9443 --cert FILE --key FILE --client-ca FILE", flag)
		}
	}
	o.host.MemoryBytes, o.host.Logger = o.memory<<20, e.logger()
	o.host.Worker.Logger = o.host.Logger
	o.host.Print = func(line string) { cli.Fprintln(e.Err, line) }
	return host.RunSandboxd(ctx, o.host)
}
