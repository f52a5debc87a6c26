package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
)

// uv installs packages like uvx, each in its own environment, which can be renamed.
type uv struct {
	spec Spec
	c    launch.Command
	uv   string
}

func newUV(c launch.Command, spec Spec) (*uv, error) {
	uvx, err := launch.LookPath(spec.program, c.Dir, c.Env)
	if err != nil {
		return nil, notPlain("%v", err)
	}
	u := &uv{spec: spec, c: c}
	if u.uv, err = launch.LookPath(filepath.Join(filepath.Dir(uvx), "uv"), "", c.Env); err != nil {
		u.uv, err = launch.LookPath("uv", "", c.Env)
	}
	if err != nil {
		return nil, notPlain("%v", err)
	}
	return u, nil
}

func (u *uv) platform(context.Context) (string, error) {
	return runtime.GOOS + "-" + runtime.GOARCH, nil
}

func (u *uv) install(ctx context.Context, dir, version string) error {
	if _, err := output(ctx, u.c, dir, []string{u.uv, "venv", "--quiet", "--relocatable", "--no-project", filepath.Join(dir, "venv")}); err != nil {
		return err
	}
	_, err := output(ctx, u.c, dir, []string{u.uv, "pip", "install", "--quiet", "--python", u.program(dir, "python"), u.spec.asked(version)})
	return err
}

func (u *uv) program(dir, name string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "venv", "Scripts", name+".exe")
	}
	return filepath.Join(dir, "venv", "bin", name)
}

// bare is the name without extras.
func (u *uv) bare() string {
	name, _, _ := strings.Cut(u.spec.Name, "[")
	return name
}

var separators = lazyregexp.New(`[-_.]+`)

func (u *uv) installed(dir string) (string, error) {
	name := strings.ToLower(separators.ReplaceAllString(u.bare(), "_"))
	for _, lib := range []string{filepath.Join("lib", "python*"), "Lib"} {
		found, _ := filepath.Glob(filepath.Join(globQuote(dir), "venv", lib, "site-packages", "*.dist-info")) // no error: the pattern is right
		for _, info := range found {
			base := strings.TrimSuffix(filepath.Base(info), ".dist-info")
			got, version, _ := strings.Cut(base, "-")
			if strings.ToLower(separators.ReplaceAllString(got, "_")) == name && pythonNumber.MatchString(version) {
				return version, nil
			}
		}
	}
	return "", fmt.Errorf("uv has not installed %s", u.spec.Name)
}

// newest returns the version that uv would choose for its Python, by "requires-python"
// and the available wheels.
func (u *uv) newest(ctx context.Context, _ string) (version, skipped string, err error) {
	dir, err := os.MkdirTemp("", "broker-uv-*")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	wanted := filepath.Join(dir, "wanted.txt")
	if err := os.WriteFile(wanted, []byte(u.spec.Name+"\n"), 0o600); err != nil {
		return "", "", err
	}
	out, err := output(ctx, u.c, dir, []string{u.uv, "pip", "compile", "--quiet", "--no-deps", "--no-header", "--no-annotate",
		"--refresh-package", u.bare(), wanted})
	if err != nil {
		return "", "", err
	}
	_, version, ok := strings.Cut(strings.TrimSpace(out), "==")
	if !ok {
		return "", "", errors.New("uv pip compile names no version")
	}
	return version, "", nil
}

// elsewhere is none: uv keeps what it runs where it may remove it.
func (u *uv) elsewhere(context.Context) string { return "" }

func (u *uv) command(dir string) (launch.Command, error) {
	name := u.spec.Program
	if name == "" {
		name = u.bare()
	}
	for _, needed := range []string{name, "python"} { // which is a link that may lead nowhere
		if info, err := os.Stat(u.program(dir, needed)); err != nil || info.IsDir() {
			return launch.Command{}, fmt.Errorf("%s has no program %q", u.spec.Name, needed)
		}
	}
	c := u.c
	c.Program, c.Args = u.program(dir, name), u.spec.Args
	c.Env = withPath(c.Env, filepath.Dir(c.Program))
	return c, nil
}
