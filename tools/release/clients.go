package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

//go:embed broker.js
var shim []byte

// npmArch and npmOS are Node's names.
func (t target) npmArch() string { return strings.Replace(t.arch, "amd64", "x64", 1) }
func (t target) npmOS() string   { return strings.Replace(t.os, "windows", "win32", 1) }
func (t target) npmName() string { return npmName + "-" + t.npmOS() + "-" + t.npmArch() }

// npmFile is what npm pack would call the package.
func (r *release) npmFile(name string) string {
	return strings.NewReplacer("@", "", "/", "-").Replace(name) + "-" + r.version + ".tgz"
}

func (r *release) npm(kind, system, name string, manifest map[string]any, files ...file) error {
	texts, err := r.texts("", kind, system, name)
	if err != nil {
		return err
	}
	manifest["name"], manifest["version"], manifest["license"] = name, r.version, licenseName
	manifest["repository"] = map[string]string{"type": "git", "url": "git+" + homepage + ".git"}
	files = append(append(files, texts...), file{name: "package.json", data: indented(manifest), mode: 0o644})
	return r.write(r.npmFile(name), r.tarGz(under("package", files)))
}

// npmPlatform writes the package with the programs of one system.
func (r *release) npmPlatform(t target, programs []file) error {
	return r.npm("npm-platform", t.String(), t.npmName(), map[string]any{
		"description": "The programs of " + npmName + " for " + t.String(),
		"os":          []string{t.npmOS()}, "cpu": []string{t.npmArch()}, "preferUnplugged": true,
	}, under("bin", programs)...)
}

// npmWrapper writes the package that users name: npm installs the one of its
// optional dependencies that is for their system, and no script runs at install.
func (r *release) npmWrapper() error {
	platforms := map[string]string{}
	for _, t := range allTargets {
		platforms[t.npmName()] = r.version
	}
	return r.npm("npm", "", npmName, map[string]any{
		"description": summary, "homepage": homepage, "mcpName": serverName, "keywords": []string{"mcp", "mcp-server"},
		"bin": map[string]string{"broker": "broker.js"}, "engines": map[string]string{"node": ">=18"},
		"optionalDependencies": platforms,
	}, file{name: "broker.js", data: shim, mode: 0o755})
}

func (r *release) mcpbName(t target) string {
	return fmt.Sprintf("broker_%s_%s_%s.mcpb", r.version, t.os, t.arch)
}

// mcpb writes a bundle that desktop clients install: they ask for servers.json.
func (r *release) mcpb(t target, programs []file) error {
	texts, err := r.texts("", "mcpb", t.String(), "")
	if err != nil {
		return err
	}
	program := "server/" + t.exe("broker")
	manifest := indented(map[string]any{
		"manifest_version": "0.3", "name": "broker", "display_name": "broker", "version": r.version, "description": summary,
		"author": map[string]string{"name": "The broker's authors", "url": homepage}, "license": licenseName,
		"repository": map[string]string{"type": "git", "url": homepage}, "documentation": homepage + "#readme",
		"server": map[string]any{
			"type": "binary", "entry_point": program,
			"mcp_config": map[string]any{
				"command": "${__dirname}/" + program, "args": []string{"serve", "--config", "${user_config.config}"}, "env": map[string]string{},
			},
		},
		"user_config": map[string]any{"config": map[string]any{
			"type": "file", "title": "servers.json", "description": "The file that lists your MCP servers", "required": true,
		}},
		"compatibility": map[string]any{"platforms": []string{t.npmOS()}},
	})
	files := append(texts, file{name: "manifest.json", data: manifest, mode: 0o644})
	return r.write(r.mcpbName(t), r.zip(append(files, under("server", programs)...)))
}

func (r *release) pluginName() string { return "broker_" + r.version + "_claude-plugin.zip" }

// plugin writes that of Claude Code, with its version: in the repository it has none,
// and there the commit is its version.
func (r *release) plugin() error {
	files, err := r.texts("", "plugin", "", "")
	if err != nil {
		return err
	}
	dir := filepath.Join(r.root, "plugin")
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, err2 := filepath.Rel(dir, path)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if d.Name() == "plugin.json" {
			var manifest map[string]any
			if err := json.Unmarshal(data, &manifest); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			manifest["version"] = r.version
			data = indented(manifest)
		}
		files = append(files, file{name: filepath.ToSlash(name), data: data, mode: 0o644})
		return nil
	})
	if err != nil {
		return err
	}
	return r.write(r.pluginName(), r.zip(files))
}

// serverJSON writes the entry of the MCP registry.
func (r *release) serverJSON() error {
	stdio := map[string]string{"type": "stdio"}
	config := map[string]any{"description": "The file that lists your MCP servers", "format": "filepath", "isRequired": true}
	option := map[string]any{"type": "named", "name": "--config"}
	maps.Copy(option, config)
	packages := []map[string]any{
		{
			"registryType": "npm", "identifier": npmName, "version": r.version, "transport": stdio, "runtimeHint": "npx",
			"packageArguments": []map[string]any{{"type": "positional", "value": "serve"}, option},
		},
		{
			"registryType": "oci", "identifier": imageName + ":" + r.version, "transport": stdio, "runtimeHint": "docker",
			"runtimeArguments": []map[string]any{{
				"type": "named", "name": "--mount", "value": "type=bind,src={config},dst=/etc/broker/servers.json,readonly",
				"isRequired": true, "variables": map[string]any{"config": config},
			}},
		},
	}
	for _, t := range allTargets {
		if sum, ok := r.sums[r.mcpbName(t)]; ok {
			packages = append(packages, map[string]any{
				"registryType": "mcpb", "identifier": r.download(r.mcpbName(t)), "fileSha256": sum, "transport": stdio,
			})
		}
	}
	return r.writeJSON("server.json", map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    serverName, "description": summary, "version": r.version, "packages": packages,
		"repository": map[string]string{"url": homepage, "source": "github"},
	})
}

// formula writes Homebrew's description of the archives that were built.
func (r *release) formula() error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Mcpbroker < Formula\n  desc %q\n  homepage %q\n  version %q\n  license %q\n", strings.TrimSuffix(summary, "."), homepage, r.version, licenseName)
	for _, system := range []string{"darwin", "linux"} {
		fmt.Fprintf(&b, "\n  on_%s do\n", strings.Replace(system, "darwin", "macos", 1))
		for _, arch := range []string{"amd64", "arm64"} {
			name := r.archiveName(target{system, arch})
			if sum, ok := r.sums[name]; ok {
				fmt.Fprintf(&b, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", strings.Replace(strings.TrimSuffix(arch, "64"), "amd", "intel", 1), r.download(name), sum)
			}
		}
		b.WriteString("  end\n")
	}
	b.WriteString(`
  def install
    bin.install "broker", "broker-worker"
    man1.install Dir["man/*.1"]
    generate_completions_from_executable bin/"broker", "completion", shells: [:bash, :zsh, :fish]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/broker version")
  end
end
`)
	return r.write("mcpbroker.rb", []byte(b.String()))
}
