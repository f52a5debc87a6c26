package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// examples returns what administrators copy and adapt.
func (r *release) examples() (list []file, err error) {
	for _, name := range []string{"broker.service", "nginx.conf"} {
		data, err := os.ReadFile(filepath.Join(r.root, "deploy", name))
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: "usr/share/doc/mcpbroker/examples/" + name, data: data, mode: 0o644})
	}
	return list, nil
}

// linux writes deb, rpm and apk.
func (r *release) linux(t target, programs []file) error {
	texts, err := r.texts("usr/share/doc/mcpbroker/", "linux", t.String(), "")
	if err != nil {
		return err
	}
	examples, err := r.examples()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "broker-release") // nfpm reads files
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, format := range []string{"deb", "rpm", "apk"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := &nfpm.Info{
			Name: "mcpbroker", Arch: t.arch, Platform: t.os, Version: r.version, MTime: r.time,
			Maintainer: "The broker's authors <noreply@users.noreply.github.com>", Description: summary, Homepage: homepage, License: licenseName, Section: "utils",
		}
		info.RPM.BuildHost = "localhost"
		if format == "apk" {
			info.VersionSchema, info.Version = "none", apkVersion(r.version)
		}
		for i, f := range slices.Concat(under("usr/bin", programs), texts, examples, r.shell(format)) {
			source := filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(source, f.data, f.mode); err != nil {
				return err
			}
			info.Contents = append(info.Contents, &files.Content{
				Source: source, Destination: "/" + f.name, FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: r.time, Owner: "root", Group: "root"},
			})
		}
		info = nfpm.WithDefaults(info)
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
		if err := r.write(packager.ConventionalFileName(info), out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

var apkSuffix = regexp.MustCompile(`-(alpha|beta|rc)?\.?(\d*).*`)

// apkVersion is a semantic version as apk orders them: before a release are only
// _alpha, _beta, _pre and _rc, each with a number.
func apkVersion(version string) string {
	return apkSuffix.ReplaceAllStringFunc(version, func(suffix string) string {
		m := apkSuffix.FindStringSubmatch(suffix)
		return "_" + cmp.Or(m[1], "pre") + m[2]
	})
}

// image writes an OCI image of one layer, which docker load reads too: the
// programs, the root certificates that Mozilla trusts, and a directory for state.
func (r *release) image(t target, programs []file) error {
	const user = 65534
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		check(pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	texts, err := r.texts("usr/share/doc/mcpbroker/", "image", t.String(), "")
	if err != nil {
		return err
	}
	layer := r.tar(slices.Concat([]file{
		{name: "etc/broker/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", data: roots.Bytes(), mode: 0o644},
		{name: "tmp/", mode: 0o1777},
		{name: "var/lib/broker/", mode: 0o700, uid: user},
	}, texts, under("usr/bin", programs)))

	var blobs []file
	add := func(mediaType string, data []byte) map[string]any {
		digest := fmt.Sprintf("%x", sha256.Sum256(data))
		blobs = append(blobs, file{name: "blobs/sha256/" + digest, data: data, mode: 0o644})
		return map[string]any{"mediaType": mediaType, "digest": "sha256:" + digest, "size": len(data)}
	}
	compressed := add("application/vnd.oci.image.layer.v1.tar+gzip", gzipped(layer))
	config := add("application/vnd.oci.image.config.v1+json", marshal(map[string]any{
		"created": r.time.Format(time.RFC3339), "os": t.os, "architecture": t.arch,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", user, user), "Entrypoint": []string{"/usr/bin/broker"}, "Cmd": []string{"serve"},
			"Env": []string{"PATH=/usr/bin", "HOME=/var/lib/broker", "XDG_CONFIG_HOME=/etc", "XDG_STATE_HOME=/var/lib", "BROKER_DAEMON=off"},
			"Labels": map[string]string{
				"io.modelcontextprotocol.server.name": serverName, "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.source": homepage, "org.opencontainers.image.licenses": licenseName,
			},
		},
	}))
	manifest := add("application/vnd.oci.image.manifest.v1+json", marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": []any{compressed},
	}))
	manifest["annotations"] = map[string]string{"org.opencontainers.image.ref.name": r.version}
	manifest["platform"] = map[string]string{"os": t.os, "architecture": t.arch}
	text := func(name string, v any) file { return file{name: name, data: marshal(v), mode: 0o644} }
	return r.write(fmt.Sprintf("broker_%s_%s_%s.oci.tar", r.version, t.os, t.arch), r.tar(append(blobs,
		text("oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}),
		text("index.json", map[string]any{"schemaVersion": 2, "manifests": []any{manifest}}),
		text("manifest.json", []any{map[string]any{ // for docker load
			"Config": blobs[1].name, "RepoTags": []string{imageName + ":" + r.version}, "Layers": []string{blobs[0].name},
		}}),
	)))
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	check(err)
	return data
}
