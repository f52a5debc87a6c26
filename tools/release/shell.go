package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A shellFile is what a shell reads to complete commands.
type shellFile struct {
	shell            string
	archive          string            // its name in archives
	installed        string            // its place on a system
	installedByOther map[string]string // by the formats that have another place
}

var shellFiles = []shellFile{
	{shell: "bash", archive: "broker.bash", installed: "usr/share/bash-completion/completions/broker"},
	{shell: "zsh", archive: "_broker", installed: "usr/share/zsh/site-functions/_broker", installedByOther: map[string]string{"deb": "usr/share/zsh/vendor-completions/_broker"}},
	{shell: "fish", archive: "broker.fish", installed: "usr/share/fish/vendor_completions.d/broker.fish"},
}

// complete asks the broker of this system for the completions and the man pages, which
// are the same on all.
func (r *release) complete() error {
	programs, err := r.build(target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "broker-release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	broker := filepath.Join(dir, programs[0].name)
	if err := os.WriteFile(broker, programs[0].data, 0o700); err != nil {
		return err
	}
	r.completions = map[string][]byte{}
	for _, f := range shellFiles {
		text, err := output(dir, broker, "completion", f.shell)
		if err != nil {
			return err
		}
		if text == "" {
			return fmt.Errorf("broker completion %s printed nothing", f.shell)
		}
		r.completions[f.shell] = []byte(text + "\n")
	}
	if _, err := output(dir, broker, "man", "pages", "--date", r.time.Format(time.DateOnly)); err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(dir, "pages", "*.1")) // sorted
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		r.manual = append(r.manual, file{name: filepath.Base(page), data: data, mode: 0o644})
	}
	if len(pages) == 0 && err == nil {
		err = errors.New("broker man wrote nothing")
	}
	return err
}

// shell are the completions and man pages, where the packages of a format have them.
func (r *release) shell(format string) (files []file) {
	for _, f := range shellFiles {
		name := f.installed
		if other, ok := f.installedByOther[format]; ok {
			name = other
		}
		if format == "archive" {
			name = "completions/" + f.archive
		}
		if data := r.completions[f.shell]; data != nil {
			files = append(files, file{name: name, data: data, mode: 0o644})
		}
	}
	for _, page := range r.manual {
		if format == "archive" {
			files = append(files, file{name: "man/" + page.name, data: page.data, mode: page.mode})
			continue
		}
		files = append(files, file{name: "usr/share/man/man1/" + page.name + ".gz", data: gzipped(page.data), mode: page.mode})
	}
	return files
}
