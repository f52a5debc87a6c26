package worker

import (
	"cmp"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	module      = "github.com/mcpbroker/mcpbroker"
	programPath = module + "/cmd/broker-worker"
)

// builtTogether is how much older than this program a broker-worker may be where
// neither has a version that says what it was built of.
const builtTogether = 10 * time.Minute

// A program is broker-worker, as far as it can be used.
type program struct {
	name string                // its path
	path string                // the same file, even when another one takes its place
	file *os.File              // it, on Linux
	why  atomic.Pointer[error] // why it is not used
}

// unusable is a program that is not used.
func unusable(why error) *program {
	p := new(program)
	p.reject(why)
	return p
}

func (p *program) used() bool { return p.why.Load() == nil }

// reject says why the program is not used, and whether nothing has said so before.
func (p *program) reject(why error) bool { return p.why.CompareAndSwap(nil, &why) }

// Program returns the path of the program that children run: a broker-worker of
// the same build that is in the directory of this program, else this program
// itself; why is what is wrong with the former then. It starts in about half
// the time, and has no more code than scripts need.
func Program() (path string, why error) {
	p := beside()
	if why := p.why.Load(); why != nil {
		return ownName(), *why
	}
	return p.name, nil
}

// Executable is the file that Program names, for who opens it: it is the same
// even when another one has taken its place meanwhile.
func Executable() string {
	if p := beside(); p.used() {
		return p.path
	}
	return ownPath()
}

// beside looks for broker-worker, once.
var beside = sync.OnceValue(func() *program {
	own, ok := debug.ReadBuildInfo()
	if !ok {
		return unusable(errors.New("this program was built without modules"))
	}
	return findProgram(ownName(), own)
})

// findProgram looks for broker-worker in the directory of the program at own,
// which was built as info says.
func findProgram(own string, info *debug.BuildInfo) *program {
	if resolved, err := filepath.EvalSymlinks(own); err == nil {
		own = resolved
	}
	name := filepath.Join(filepath.Dir(own), "broker-worker")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return unusable(fmt.Errorf("there is no %s", name))
	}
	if err == nil {
		err = sameBuild(f, own, info)
	}
	if err != nil {
		f.Close()
		return unusable(fmt.Errorf("%s is not used: %w", name, err))
	}
	if runtime.GOOS != "linux" {
		f.Close()
		return &program{name: name, path: name}
	}
	return &program{name: name, path: fmt.Sprintf("/proc/self/fd/%d", f.Fd()), file: f}
}

// sameBuild returns nil if the file is a broker-worker that was built of the same
// sources as the program at own: of the same versions, with the same digests as
// far as both know them.
func sameBuild(f *os.File, own string, info *debug.BuildInfo) error {
	theirs, err := buildinfo.Read(f)
	if err != nil {
		return errors.New("it is not a Go program")
	}
	if theirs.Path != programPath {
		return fmt.Errorf("it was built from %s", theirs.Path)
	}
	if theirs.GoVersion != info.GoVersion {
		return fmt.Errorf("it was built with %s, and this program with %s", theirs.GoVersion, info.GoVersion)
	}
	ours := modulesOf(info)
	for path, m := range modulesOf(theirs) {
		want, ok := ours[path]
		switch {
		case !ok || want.Version != m.Version:
			return fmt.Errorf("it has version %s of %s, and this program %s", m.Version, path, cmp.Or(want.Version, "none"))
		case want.Sum != m.Sum && want.Sum != "" && m.Sum != "":
			return fmt.Errorf("its %s is not that of this program", path)
		}
	}
	if v := theirs.Main.Version; v == "" || v == "(devel)" || strings.HasSuffix(v, "+dirty") {
		return notOlder(f, own)
	}
	return nil
}

// notOlder is an error if f was built well before the program at own: the version
// of either does not say what it was built of.
func notOlder(f *os.File, own string) error {
	theirs, err := f.Stat()
	if err != nil {
		return err
	}
	ours, err := os.Stat(own)
	if err != nil {
		return err
	}
	if theirs.ModTime().Before(ours.ModTime().Add(-builtTogether)) {
		return errors.New("it is older than this program, and neither has a version: build both together")
	}
	return nil
}

// modulesOf are the versions and digests of all modules in a program.
func modulesOf(info *debug.BuildInfo) map[string]debug.Module {
	all := map[string]debug.Module{info.Main.Path: {Version: info.Main.Version, Sum: info.Main.Sum}}
	for _, m := range info.Deps {
		d := debug.Module{Version: m.Version, Sum: m.Sum}
		if m.Replace != nil {
			d.Version, d.Sum = m.Replace.Path+" "+m.Replace.Version, m.Replace.Sum
		}
		all[m.Path] = d
	}
	return all
}

// ownName is the path of this program for people.
func ownName() string {
	name, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return name
}

// ownPath is the path of this program. On Linux it is one that stays right when
// the file is replaced by a new version.
func ownPath() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return ownName()
}
