package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file is what goes into a package.
type file struct {
	name string // with slashes; one that ends with a slash is a directory
	data []byte
	mode fs.FileMode
	uid  int
}

// build returns broker and broker-worker for a system, stripped and static.
func (r *release) build(t target) ([]file, error) {
	if programs, ok := r.built[t]; ok {
		return programs, nil
	}
	dir, err := os.MkdirTemp("", "broker-release")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	_, err = r.goOutput(t, "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w -X main.stamped="+r.version,
		"-o", dir+string(filepath.Separator), "./cmd/broker", "./cmd/broker-worker")
	if err != nil {
		return nil, err
	}
	return r.read(t, dir)
}

// read returns the programs in a directory, and keeps them as those of a system.
func (r *release) read(t target, dir string) (programs []file, err error) {
	for _, name := range []string{"broker", "broker-worker"} {
		data, err := os.ReadFile(filepath.Join(dir, t.exe(name)))
		if err != nil {
			return nil, err
		}
		programs = append(programs, file{name: t.exe(name), data: data, mode: 0o755})
	}
	r.built[t] = programs
	return programs, nil
}

// goOutput runs go for a system. What may be set on this machine must not change the
// bytes; an empty GOFLAGS would be that of go env -w.
func (r *release) goOutput(t target, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	return outputOf(cmd)
}

// archive writes the programs for those who unpack them by hand.
func (r *release) archive(t target, programs []file) error {
	files, err := r.texts("", "archive", t.String(), "")
	if err != nil {
		return err
	}
	files = append(append(files, programs...), r.shell("archive")...)
	name := r.archiveName(t)
	if t.os == "windows" {
		return r.write(name, r.zip(files))
	}
	return r.write(name, r.tarGz(files))
}

func (r *release) archiveName(t target) string {
	suffix := "tar.gz"
	if t.os == "windows" {
		suffix = "zip"
	}
	return fmt.Sprintf("broker_%s_%s_%s.%s", r.version, t.os, t.arch, suffix)
}

// readmes are the README files of packages, one for each kind. The README of the
// repository describes the source, and its links do not work in a package.
//
//go:embed readme/*.md
var readmes embed.FS

// readme returns the text for users of one kind of package, with VERSION, SYSTEM,
// PACKAGE and HOMEPAGE replaced.
func (r *release) readme(kind, system, pkg string) ([]byte, error) {
	text, err := readmes.ReadFile("readme/" + kind + ".md")
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer("VERSION", r.version, "SYSTEM", system, "PACKAGE", pkg, "HOMEPAGE", homepage).Replace(string(text))), nil
}

// texts returns the files for readers in a directory of a package of a kind, with the
// licenses of others if the package contains programs.
func (r *release) texts(dir, kind, system, pkg string) ([]file, error) {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	readme, err := r.readme(kind, system, pkg)
	if err != nil {
		return nil, err
	}
	texts := []file{{name: dir + "LICENSE", data: license, mode: 0o644}, {name: dir + "README.md", data: readme, mode: 0o644}}
	if r.licenses != nil {
		texts = append(texts, file{name: dir + "THIRD_PARTY_LICENSES.txt", data: r.licenses, mode: 0o644})
	}
	return texts, nil
}

func under(dir string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].name = path.Join(dir, moved[i].name)
	}
	return moved
}

func (r *release) tarGz(files []file) []byte { return gzipped(r.tar(files)) }

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(data) // a bytes.Buffer takes everything
	w.Close()
	return out.Bytes()
}

func (r *release) tar(files []file) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode), Uid: f.uid, Gid: f.uid, ModTime: r.time}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		check(w.WriteHeader(h))
		_, err := w.Write(f.data)
		check(err)
	}
	check(w.Close())
	return out.Bytes()
}

func (r *release) zip(files []file) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		check(err)
		_, err = entry.Write(f.data)
		check(err)
	}
	check(w.Close())
	return out.Bytes()
}

// check panics: files in memory are archived without errors, unless a name is wrong.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// sbom writes the modules of both programs in CycloneDX's format.
func (r *release) sbom(t target, programs []file) error {
	components := map[string]any{}
	add := func(name, version string) {
		purl := "pkg:golang/" + name + "@" + version
		components[purl] = map[string]string{"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
	}
	for _, p := range programs {
		info, err := buildinfo.Read(bytes.NewReader(p.data))
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		add("stdlib", info.GoVersion[len("go"):])
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version)
		}
	}
	var sorted []any
	for _, purl := range slices.Sorted(maps.Keys(components)) {
		sorted = append(sorted, components[purl])
	}
	return r.writeJSON(fmt.Sprintf("broker_%s_%s_%s.cdx.json", r.version, t.os, t.arch), map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.time.Format(time.RFC3339),
			"component": map[string]string{"type": "application", "bom-ref": "broker", "name": "broker", "version": r.version,
				"purl": "pkg:golang/github.com/mcpbroker/mcpbroker@v" + r.version},
		},
		"components": sorted,
	})
}
