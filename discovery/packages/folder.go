package packages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery/launch"
	"github.com/mcpbroker/mcpbroker/internal/atomicfile"
)

// A RunnerFolder is an empty folder in which package runners start. In the working
// folder of a server they would prefer its programs in node_modules and its settings,
// such as .npmrc and package.json, which anybody may have put there. It is safe for
// concurrent use. Close must be called.
type RunnerFolder struct {
	mu   sync.Mutex
	dir  string // empty until the temporary folder exists
	temp bool
	made bool
}

// NewRunnerFolder returns a RunnerFolder at dir, or at a temporary folder if dir is "".
// The folder is created when the first runner starts in it.
func NewRunnerFolder(dir string) *RunnerFolder {
	return &RunnerFolder{dir: dir, temp: dir == ""}
}

// Close removes a temporary folder.
func (f *RunnerFolder) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.temp && f.made {
		_ = os.RemoveAll(f.dir)
	}
}

const (
	// folderVariable contains the working folder of a server with a package runner that
	// starts elsewhere.
	folderVariable = "MCPBROKER_FOLDER"
	// shellVariable contains the shell with which npm is configured to start programs.
	shellVariable = "MCPBROKER_SHELL"
	scriptShell   = "npm_config_script_shell"
)

// shellScript is the shell with which npm starts the program of a package; it changes
// to the working folder first. npm also starts installation scripts with it, which stay
// in their folder. Both scripts remove from PATH the folders above the runner's folder,
// which npm and bun add.
const shellScript = `#!/bin/sh
shell=${MCPBROKER_SHELL:-/bin/sh}
if [ "$npm_lifecycle_event" = npx ]; then
` + leaveFolder + `	unset npm_config_script_shell
fi
exec "$shell" "$@"
`

// runScript starts a program of a package: $1, or the only one.
const runScript = `#!/bin/sh
bin=$1
shift
found=
first=
IFS=:
for d in $PATH; do
	case $d in */node_modules/.bin)
		if [ -x "$d/$bin" ]; then found=$d/$bin; break; fi
		if [ -z "$first" ]; then first=$d; fi
	esac
done
unset IFS
if [ -z "$found" ] && [ -n "$first" ]; then
	one=
	for p in "$first"/*; do one=$one:$p; found=$p; done
	if [ ":$found" != "$one" ] || [ ! -x "$found" ]; then found=; fi
fi
` + leaveFolder + `exec "${found:-$bin}" "$@"
`

const leaveFolder = `	p=:$PATH:
	d=$PWD
	while :; do
		b=$d/node_modules/.bin
		while case $p in *":$b:"*) ;; *) false ;; esac; do p=${p%%":$b:"*}:${p#*":$b:"}; done
		case $d in */*) d=${d%/*} ;; *) break ;; esac
	done
	p=${p#:}
	PATH=${p%:}
	folder=$MCPBROKER_FOLDER
	unset MCPBROKER_FOLDER MCPBROKER_SHELL
	cd "$folder" || exit 1
	INIT_CWD=$folder
`

// create creates the folder. Its files stop npm, pnpm, yarn, bun, deno and uv from
// searching the folders above for a project's settings.
func (f *RunnerFolder) create() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made {
		return f.dir, nil
	}
	dir, err := f.dir, error(nil)
	if f.temp {
		dir, err = os.MkdirTemp("", "broker-runner-*")
	} else if err = os.MkdirAll(dir, 0o700); err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"package.json": "{\"private\":true}\n", "deno.json": "{}\n", "uv.toml": "", "shell": shellScript, "run": runScript,
	} {
		path := filepath.Join(dir, name)
		if have, err := os.ReadFile(path); err == nil && string(have) == text {
			continue
		}
		if err := writeProgram(path, text); err != nil {
			return "", err
		}
	}
	f.dir, f.made = dir, true
	return dir, nil
}

// writeProgram replaces the file at path, which other processes may be starting.
func writeProgram(path, text string) error {
	file, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer file.Discard()
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Chmod(0o700)); err != nil {
		return err
	}
	return file.Commit()
}

// Confine returns c with its package runner in the folder, if the runner would read its
// working folder. The runner starts its program in the working folder of c if it
// supports that; otherwise away is true. Confine does not change a runner that is given
// the path of a program in the working folder.
func (f *RunnerFolder) Confine(c launch.Command) (confined launch.Command, away bool, err error) {
	r, ok := findRunner(c)
	if !ok {
		return c, false, nil
	}
	dir, err := f.create()
	if err != nil {
		return c, false, fmt.Errorf("make a folder for %s: %w", r.name, err)
	}
	folder := c.Dir
	if folder == "" {
		folder, err = os.Getwd()
	} else {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return c, false, fmt.Errorf("find the working folder of %s: %w", r.name, err)
	}
	if strings.ContainsAny(c.Program, `/`+string(filepath.Separator)) && !filepath.IsAbs(c.Program) {
		c.Program = filepath.Join(folder, c.Program)
	}
	c, away = r.confine(c, dir, folder, runtime.GOOS != "windows")
	return c, away, nil
}

// confine rewrites the command. Without sh, the program stays in the runner's folder.
func (r runnerCall) confine(c launch.Command, dir, folder string, sh bool) (launch.Command, bool) {
	c.Args = slices.Clone(c.Args)
	if r.inShell {
		c.Args[r.at] = r.before + "export " + folderVariable + `="$PWD" && cd ` + quoteShell(dir) + " && " + r.after
	} else {
		c.Dir = dir
	}
	switch {
	case !sh:
		return c, true
	case r.kind == ofNPM:
		shell := ""
		c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool {
			name, value, _ := strings.Cut(kv, "=")
			if strings.EqualFold(name, scriptShell) {
				shell = value
				return true
			}
			return false
		})
		c.Env = append(c.Env, scriptShell+"="+filepath.Join(dir, "shell"), folderVariable+"="+folder)
		if shell != "" {
			c.Env = append(c.Env, shellVariable+"="+shell)
		}
		return c, false
	case r.inShell || r.program == "":
		return c, true
	}
	c.Args = slices.Replace(c.Args, r.at, r.at+1, "sh", filepath.Join(dir, "run"), r.program)
	var first []string // of the runner's arguments
	if r.pkg != "" {
		first = []string{"--package=" + r.pkg}
	}
	if r.name == "pnpx" { // takes no options of pnpm
		first = append(first, "dlx")
		word := &c.Program
		if r.word >= 0 {
			word = &c.Args[r.word]
		}
		*word = strings.TrimSuffix(*word, filepath.Base(*word)) + strings.Replace(filepath.Base(*word), "pnpx", "pnpm", 1)
	}
	if r.name == "bun" {
		c.Args = slices.Insert(c.Args, r.at, first...)
	} else {
		c.Args = slices.Insert(c.Args, r.word+1, first...)
	}
	c.Env = append(slices.Clone(c.Env), folderVariable+"="+folder)
	return c, false
}

// quoteShell quotes text as one word of a shell.
func quoteShell(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
