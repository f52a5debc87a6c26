package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	cerrdefs "github.com/containerd/errdefs"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func filesOf(key string, list ...sandbox.File) *sandbox.Files {
	return &sandbox.Files{Dir: "/mnt/skills", Key: func() string { return key }, All: func(yield func(sandbox.File, error) bool) {
		for _, f := range list {
			if !yield(f, nil) {
				return
			}
		}
	}}
}

// look runs a program that tells what it sees below /mnt/skills.
func look(t *testing.T, r sandbox.Runner, files *sandbox.Files, code string) string {
	t.Helper()
	res, err := r.Run(t.Context(), sandbox.Request{Language: sandbox.Python, Code: code, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append([]string{string(res.Value) + res.Error}, res.Notes...), "\n")
}

func TestProgramsFindTheFilesOfTheirRequest(t *testing.T) {
	r := newTestPython(t)
	const list = `
import os
return sorted(os.path.join(d, f) + ":" + open(os.path.join(d, f)).read() for d, _, fs in os.walk("/mnt") for f in fs)`
	one := filesOf("1", sandbox.File{Path: "a/SKILL.md", Data: []byte("A")}, sandbox.File{Path: "a/b/run.sh", Data: []byte("#!/bin/sh"), Executable: true})
	const seen = `["/mnt/skills/a/SKILL.md:A","/mnt/skills/a/b/run.sh:#!/bin/sh"]`
	if got := look(t, r, one, list); got != seen {
		t.Errorf("%s, want %s", got, seen)
	}
	if got := look(t, r, one, list); got != seen {
		t.Errorf("from a spare: %s, want %s", got, seen)
	}
	if got := look(t, r, filesOf("2", sandbox.File{Path: "c", Data: []byte("C")}), list); got != `["/mnt/skills/c:C"]` {
		t.Errorf("other files: %s", got)
	}
	if got := look(t, r, nil, list); got != "[]" {
		t.Errorf("no files: %s", got)
	}
}

func TestFilesOfARequestAreReadOnly(t *testing.T) {
	r := newTestPython(t)
	got := look(t, r, filesOf("1", sandbox.File{Path: "a/x.txt", Data: []byte("A")}, sandbox.File{Path: "a/run", Data: []byte("A"), Executable: true}), `
import os, errno
out = [oct(os.stat("/mnt/skills/a/" + n).st_mode & 0o777) for n in ("x.txt", "run")]
for act in (lambda: open("/mnt/skills/a/x.txt", "w"), lambda: open("/mnt/skills/new", "w"), lambda: os.remove("/mnt/skills/a/x.txt"), lambda: os.chmod("/mnt/skills/a/x.txt", 0o777)):
    try:
        act()
        out.append("done")
    except OSError as e:
        out.append(errno.errorcode[e.errno])
return out`)
	if got != `["0o444","0o555","EROFS","EROFS","EROFS","EROFS"]` {
		t.Error(got)
	}
}

// Somebody may remove containers that were never started.
func TestFilesAreCopiedAnewWhenTheyAreGone(t *testing.T) {
	r := newTestPython(t).(*runner)
	files := filesOf("1", sandbox.File{Path: "a", Data: []byte("A")})
	const code = `open("/mnt/skills/a").read()`
	if got := look(t, r, files, code); got != `"A"` {
		t.Fatal(got)
	}
	r.shelfMu.Lock()
	old := r.shelf.id
	err := r.eng.removeContainer(old)
	r.shelfMu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // spares that are there already have the files still
		if got := look(t, r, files, code); got != `"A"` {
			t.Error(got)
		}
	}
	r.shelfMu.Lock()
	defer r.shelfMu.Unlock()
	if r.shelf.id == old {
		t.Error("the shelf that was removed is used still")
	}
}

func TestFilesThatCannotBeReadAreANote(t *testing.T) {
	r := newTestPython(t)
	bad := &sandbox.Files{Dir: "/mnt/skills", Key: func() string { return "bad" }, All: func(yield func(sandbox.File, error) bool) {
		yield(sandbox.File{}, errors.New("the disk is on fire"))
	}}
	for _, files := range []*sandbox.Files{bad, filesOf("out", sandbox.File{Path: "../etc/x"})} {
		got := look(t, r, files, `1 + 1`)
		if !strings.HasPrefix(got, "2\n/mnt/skills is empty, because ") {
			t.Errorf("%s: %s", files.Key(), got)
		}
	}
}

func TestNothingOfTheFilesIsLeft(t *testing.T) {
	needEngine(t)
	r := newTestPython(t).(*runner)
	look(t, r, filesOf("1", sandbox.File{Path: "a", Data: []byte("A")}), `1`)
	eng, err := testEngine()
	if err != nil {
		t.Fatal(err)
	}
	r.shelfMu.Lock()
	info, err := eng.api.ContainerInspect(t.Context(), r.shelf.id)
	r.shelfMu.Unlock()
	if err != nil || len(info.Mounts) != 1 {
		t.Fatalf("%v, %+v", err, info.Mounts)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := eng.api.VolumeInspect(context.Background(), info.Mounts[0].Name); !cerrdefs.IsNotFound(err) {
		t.Errorf("the volume is there still: %v", err)
	}
}

func BenchmarkFiles(b *testing.B) {
	needImage(b, pythonImage)
	for _, n := range []int{0, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := NewPython(&Options{Image: testImage, Spares: -1})
			defer r.Close()
			for i := 0; b.Loop(); i++ {
				files := &sandbox.Files{Dir: "/mnt/skills", Key: func() string { return fmt.Sprint(i) }, All: many(n)}
				if _, err := r.Run(b.Context(), sandbox.Request{Language: sandbox.Python, Code: "1", Files: files}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// many are so many files of 4 KiB.
func many(n int) iter.Seq2[sandbox.File, error] {
	return func(yield func(sandbox.File, error) bool) {
		for i := range n {
			if !yield(sandbox.File{Path: fmt.Sprintf("s%d/f%d", i/10, i%10), Data: make([]byte, 4096)}, nil) {
				return
			}
		}
	}
}

// skillFiles are the files of two skills.
var skillFiles = filesOf("skills",
	sandbox.File{Path: "release-notes/SKILL.md", Data: []byte("# Notes")},
	sandbox.File{Path: "release-notes/scripts/group.py", Data: []byte("from .lib_text import upper\n\ndef group(xs):\n    return upper('+'.join(xs))\n")},
	sandbox.File{Path: "release-notes/scripts/lib-text.py", Data: []byte("def upper(s):\n    return s.upper()\n")},
	sandbox.File{Path: "packed/__init__.py", Data: []byte("from .inner import n\n")},
	sandbox.File{Path: "packed/inner.py", Data: []byte("n = 7\n")},
)

// echo answers a call with itself.
func echo(_ context.Context, c sandbox.Call) (json.RawMessage, error) {
	heard := map[string]any{"func": c.Func, "id": c.Target}
	if c.Args != nil {
		heard["args"] = c.Args
	}
	return json.Marshal(heard)
}

func TestPythonUsesSkills(t *testing.T) {
	r := newTestPython(t)
	for _, tt := range []struct{ name, code, value, fails string }{
		{name: "a module and what it imports", code: "from skills.release_notes.scripts.group import group\nreturn group(['a', 'b'])", value: `"A+B"`},
		{name: "a package", code: "from skills import packed\nimport skills.packed.inner\nreturn [packed.n, skills.packed.inner.n]", value: `[7,7]`},
		{name: "a file by its path", code: "open('/mnt/skills/release-notes/SKILL.md').read()", value: `"# Notes"`},
		{name: "the functions are there beside imports", code: "import skills.packed\nreturn [(await skills.read('a', 'b.md')), (await skills.call('a', 'roll', sides=6)), (await skills.call('a', 'roll'))['args']]",
			value: `[{"args":["b.md"],"func":"skills.read","id":"a"},{"args":["roll",{"sides":6}],"func":"skills.call","id":"a"},["roll"]]`},
		{name: "null is not nothing", code: "[(await store.set('k', None))['args'], (await store.get('k')).get('args', 'nothing')]", value: `[null,"nothing"]`},
		{name: "an unknown skill", code: "from skills.relase_notes.scripts.group import group", fails: "there is no skill module 'relase_notes'; did you mean: release_notes"},
		{name: "an unknown module", code: "from skills.release_notes.scripts.grup import group", fails: "No module named 'skills.release_notes.scripts.grup'"},
		{name: "no path", code: "await skills.read('a', '')", fails: "use it as in await skills.read('release-notes', 'references/style.md')"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := r.Run(t.Context(), sandbox.Request{
				Language: sandbox.Python, Code: tt.code, Files: skillFiles, ModuleNames: []string{"skills/release-notes", "skills/packed"}, Call: echo,
			})
			if err != nil {
				t.Fatal(err)
			}
			if tt.fails == "" && (res.ExitCode != 0 || string(res.Value) != tt.value) {
				t.Errorf("code %d, %s, want %s; %s", res.ExitCode, res.Value, tt.value, res.Error)
			}
			if tt.fails != "" && (res.ExitCode == 0 || !strings.Contains(res.Error, tt.fails)) {
				t.Errorf("code %d, %s, want %q in it", res.ExitCode, res.Error, tt.fails)
			}
		})
	}
}
