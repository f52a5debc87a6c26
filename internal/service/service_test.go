package service_test

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcpbroker/mcpbroker/internal/service"
)

var update = flag.Bool("update", false, "rewrite testdata")

// spec has everything that needs quoting somewhere.
func spec(program, dir string) service.Spec {
	return service.Spec{
		Name: "mcpbroker", Description: "MCP broker, 100% yours", Program: program,
		Args: []string{"daemon", "run", "--config", filepathOf(dir, `my "servers" & $x.json`), "--idle", "0"},
		Env:  map[string]string{"PATH": "/opt/a b:/usr/bin", "LANG": `C\"%h`}, Dir: dir, Log: filepathOf(dir, "daemon.log"),
	}
}

func filepathOf(dir, name string) string {
	if strings.Contains(dir, `\`) {
		return dir + `\` + name
	}
	return dir + "/" + name
}

func TestPlans(t *testing.T) {
	for system, c := range map[string]struct {
		spec service.Spec
		user service.User
	}{
		"linux":   {spec("/path/with space/broker", "/home/u"), service.User{Home: "/home/u"}},
		"darwin":  {spec("/path/with space/broker", "/Users/u"), service.User{Home: "/Users/u", ID: "501"}},
		"windows": {spec(`C:\Program Files\broker\`+`broker.exe`, `C:\Users\u`), service.User{Name: `HERE\u`, StateDir: `C:\state`}},
	} {
		t.Run(system, func(t *testing.T) {
			p, err := service.For(system, c.spec, c.user)
			if err != nil {
				t.Fatal(err)
			}
			got := describe(p)
			golden := filepath.Join("testdata", system+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != got {
				t.Errorf("the plan differs from %s (%v): go test -update writes it\n%s", golden, err, got)
			}
			if system != "linux" {
				for d := xml.NewDecoder(strings.NewReader(xmlOf(p.Data))); ; {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("the file is not XML: %v", err)
					}
				}
			}
		})
	}
}

// xmlOf is the file as UTF-8, with a header that says so.
func xmlOf(data []byte) string {
	if rest, ok := bytes.CutPrefix(data, []byte{0xff, 0xfe}); ok {
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = binary.LittleEndian.Uint16(rest[2*i:])
		}
		data = []byte(strings.Replace(string(utf16.Decode(units)), "UTF-16", "UTF-8", 1))
	}
	return string(data)
}

func describe(p service.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.Manager, p.Path)
	for _, c := range []struct {
		name     string
		commands [][]string
	}{{"before", p.Before}, {"install", p.Install}, {"uninstall", p.Uninstall}, {"after", p.After}, {"restart", p.Restart}, {"status", [][]string{p.Status}}} {
		for _, words := range c.commands {
			fmt.Fprintf(&b, "%s: %q\n", c.name, words)
		}
	}
	return b.String() + "\n" + strings.ReplaceAll(xmlOf(p.Data), "\r\n", "\n")
}

func TestSystemdTakesTheUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "a program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := service.For("linux", spec(program, dir), service.User{ConfigHome: dir})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mcpbroker.service")
	if err := os.WriteFile(file, p.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("systemd-analyze", "verify", "--user", "--man=no", file)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 { // unknown keys are no error there
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

func TestWhatIsRefused(t *testing.T) {
	if _, err := service.For("plan9", service.Spec{}, service.User{}); !errors.Is(err, service.ErrSystem) {
		t.Errorf("plan9: %v", err)
	}
	if _, err := service.For("linux", service.Spec{Args: []string{"a\nExecStartPre=/bin/evil"}}, service.User{}); err == nil {
		t.Error("a line break is taken into a unit")
	}
}

func ExampleFor() {
	p, err := service.For("linux", service.Spec{Name: "mcpbroker", Description: "MCP broker", Program: "/usr/bin/broker", Args: []string{"daemon", "run"}}, service.User{Home: "/home/me"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Path)
	fmt.Println(p.Install)
	// Output:
	// /home/me/.config/systemd/user/mcpbroker.service
	// [[systemctl --user daemon-reload] [systemctl --user enable --now mcpbroker.service]]
}
