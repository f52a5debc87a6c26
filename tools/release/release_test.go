package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A built release, for this machine.
type built struct {
	*release
	here   target
	config string // a servers.json
}

const testVersion = "1.2.3-rc.1"

// Each package that this machine can use is built, installed and run; without network.
// $BROKER_PROGRAMS is a directory with programs of this version, to pack these.
func TestPackages(t *testing.T) {
	here := target{runtime.GOOS, runtime.GOARCH}
	t.Setenv("GOPROXY", "off")
	out, programs := t.TempDir(), os.Getenv("BROKER_PROGRAMS")
	r, err := newRelease(out, testVersion)
	if err == nil && programs != "" {
		_, err = r.read(here, programs)
	}
	if err == nil {
		err = r.make([]target{here})
	}
	if err != nil {
		t.Fatal(err)
	}

	// What the programs read and write must not be this machine's.
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("BROKER_DAEMON", "off")
	b := built{r, here, filepath.Join(home, "broker", "servers.json")}
	write(t, b.config, `{"mcpServers": {}}`)

	if programs == "" {
		t.Run("the same bytes again", b.testAgain)
	}
	t.Run("checksums", b.testChecksums)
	t.Run("archive", b.testArchive)
	t.Run("deb", b.testDeb)
	t.Run("apk", b.testApk)
	t.Run("rpm", b.testRpm)
	t.Run("npm", b.testNpm)
	t.Run("image", b.testImage)
	t.Run("mcpb", b.testMcpb)
	t.Run("plugin", b.testPlugin)
	t.Run("descriptions", b.testDescriptions)
}

// named is the path of a file of the release.
func (b built) named(name string) string { return filepath.Join(b.out, name) }

// works does the main job with an installed broker: a script from the command line,
// and one for a client.
func works(t *testing.T, broker string) {
	t.Helper()
	if got := succeed(t, "", broker, "version"); !strings.HasPrefix(got, "broker "+testVersion+" (") {
		t.Errorf("version: %s", got)
	}
	if got := succeed(t, "return 6 * 7", broker, "exec", "--json", "-"); !strings.Contains(got, `"result": 42`) {
		t.Errorf("exec: %s", got)
	}
	serves(t, exec.Command(broker, "serve"))
}

// machine is the name that rpm and apk have for the architecture.
func (b built) machine() string {
	return map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[b.here.arch]
}

func (b built) testAgain(t *testing.T) {
	r, err := newRelease(t.TempDir(), testVersion)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := r.build(b.here)
	if err != nil {
		t.Fatal(err)
	}
	if b.here.os != "windows" {
		first := t.TempDir()
		unpack(t, b.named(r.archiveName(b.here)), first)
		for _, p := range programs {
			if read(t, filepath.Join(first, p.name)) != string(p.data) {
				t.Errorf("%s differs when it is built again", p.name)
			}
		}
	}
	// Packing shows itself on small programs.
	small := []file{{name: "broker", data: []byte("b"), mode: 0o755}, {name: "broker-worker", data: []byte("w"), mode: 0o755}}
	var sums []map[string]string
	for range 2 {
		r.sums = map[string]string{}
		for _, system := range allTargets {
			if err := r.pack(system, small); err != nil {
				t.Fatal(err)
			}
		}
		sums = append(sums, r.sums)
	}
	if !maps.Equal(sums[0], sums[1]) {
		t.Errorf("packed twice:\n%v\n%v", sums[0], sums[1])
	}
}

func (b built) testChecksums(t *testing.T) {
	listed := strings.Split(strings.TrimSpace(read(t, b.named("SHA256SUMS"))), "\n")
	files, _ := os.ReadDir(b.out)
	if len(listed) != len(files)-1 {
		t.Errorf("%d checksums of %d files", len(listed), len(files)-1)
	}
	for _, line := range listed {
		sum, name, _ := strings.Cut(line, "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, b.named(name))))); got != sum {
			t.Errorf("%s has %s, want %s", name, got, sum)
		}
	}
}

func (b built) testArchive(t *testing.T) {
	if b.here.os == "windows" {
		t.Skip("unpacks with tar")
	}
	dir := t.TempDir()
	unpack(t, b.named(b.archiveName(b.here)), dir)
	works(t, filepath.Join(dir, "broker"))
	licenses := read(t, filepath.Join(dir, "THIRD_PARTY_LICENSES.txt"))
	for _, want := range []string{"Go " + runtime.Version(), "github.com/dop251/goja ", "modernc.org/sqlite ", "o200k_base", "WordNet 3.0", "\npreact\n"} {
		if !strings.Contains(licenses, want) {
			t.Errorf("no license of %s", want)
		}
	}
	if got := read(t, filepath.Join(dir, "completions", "broker.bash")); !strings.Contains(got, "__start_broker") {
		t.Errorf("completion: %.100s", got)
	}
	if got := read(t, filepath.Join(dir, "man", "broker-exec.1")); !strings.Contains(got, ".TH") {
		t.Errorf("man page: %.100s", got)
	}
	report, _ := exec.Command(filepath.Join(dir, "broker"), "doctor").Output() // other checks may fail b.here
	if worker := "ok    sandbox program: " + filepath.Join(dir, "broker-worker"); !strings.Contains(string(report), worker) {
		t.Errorf("doctor does not say %q:\n%s", worker, report)
	}
	if b.here.os != "linux" {
		return
	}
	for _, name := range []string{"broker", "broker-worker"} {
		f, err := elf.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if libs, _ := f.ImportedLibraries(); len(libs) > 0 || f.Section(".interp") != nil || f.Section(".symtab") != nil {
			t.Errorf("%s is not static and stripped: %v", name, libs)
		}
		f.Close()
	}
}

func (b built) testDeb(t *testing.T) {
	needs(t, "dpkg")
	root := t.TempDir()
	for _, name := range []string{"status", "info/.keep", "updates/.keep"} {
		write(t, filepath.Join(root, "var/lib/dpkg", name), "")
	}
	dpkg := []string{"dpkg", "--root=" + root, "--force-not-root", "--force-bad-path", "--log=/dev/null"}
	succeed(t, "", append(dpkg, "--install", b.named("mcpbroker_1.2.3~rc.1_"+b.here.arch+".deb"))...)
	works(t, filepath.Join(root, "usr/bin/broker"))
	for _, name := range []string{"bash-completion/completions/broker", "zsh/vendor-completions/_broker", "fish/vendor_completions.d/broker.fish", "doc/mcpbroker/THIRD_PARTY_LICENSES.txt", "doc/mcpbroker/examples/broker.service", "doc/mcpbroker/examples/nginx.conf", "man/man1/broker-exec.1.gz"} {
		if read(t, filepath.Join(root, "usr/share", name)) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	succeed(t, "", append(dpkg, "--remove", "mcpbroker")...)
	if left, _ := filepath.Glob(filepath.Join(root, "usr/bin/*")); len(left) > 0 {
		t.Errorf("left after it was removed: %v", left)
	}
}

func (b built) testApk(t *testing.T) {
	if b.here.os != "linux" {
		t.Skip("only for Linux")
	}
	dir := t.TempDir()
	unpack(t, b.named("mcpbroker_1.2.3_rc1_"+b.machine()+".apk"), dir)
	works(t, filepath.Join(dir, "usr/bin/broker"))
}

func (b built) testRpm(t *testing.T) {
	needs(t, "rpm")
	if os.Geteuid() != 0 {
		t.Skip("only root can install into a folder with rpm")
	}
	file := b.named("mcpbroker-1.2.3~rc.1-1." + b.machine() + ".rpm")
	root := t.TempDir()
	rpm := []string{"rpm", "--root", root}
	if out := succeed(t, "", "rpm", "--checksig", file); !strings.Contains(out, "digests OK") {
		t.Errorf("rpm --checksig: %s", out)
	}
	succeed(t, "", append(rpm, "--initdb")...)
	succeed(t, "", append(rpm, "--install", file)...)
	works(t, filepath.Join(root, "usr/bin/broker"))
	if out := succeed(t, "", append(rpm, "--verify", "mcpbroker")...); out != "" {
		t.Errorf("what was installed is not what was packed:\n%s", out)
	}
	if out := succeed(t, "", append(rpm, "--query", "mcpbroker")...); out != "mcpbroker-1.2.3~rc.1-1."+b.machine() {
		t.Errorf("it is installed as %s", out)
	}
	succeed(t, "", append(rpm, "--erase", "mcpbroker")...)
	if left, _ := filepath.Glob(filepath.Join(root, "usr/bin/*")); len(left) > 0 {
		t.Errorf("left after it was removed: %v", left)
	}
}

func (b built) testNpm(t *testing.T) {
	needs(t, "npm")
	dir := t.TempDir()
	succeed(t, "", "npm", "install", "--prefix", dir, "--cache", t.TempDir(), "--offline", "--ignore-scripts", "--no-audit", "--no-fund",
		b.named(b.npmFile(npmName)), b.named(b.npmFile(b.here.npmName())))
	bin := filepath.Join(dir, "node_modules/.bin/broker")
	works(t, bin)
	if err := exec.Command(bin, "serch").Run(); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
		t.Errorf("an unknown command ends with %v, want 2", err)
	}
}

func (b built) testImage(t *testing.T) {
	needs(t, "docker")
	if b.here.os != "linux" {
		t.Skip("no image of this system")
	}
	if os.Getenv("BROKER_CI") == "" && exec.Command("docker", "info").Run() != nil {
		t.Skip("Docker does not run")
	}
	image := imageName + ":1.2.3-rc.1"
	succeed(t, "", "docker", "load", "--input", b.named("broker_1.2.3-rc.1_linux_"+b.here.arch+".oci.tar"))
	defer exec.Command("docker", "rmi", image).Run()
	// The config is written into a volume: the engine may be another machine's.
	id := succeed(t, "", "docker", "create", "--network=none", "--cap-drop=ALL", "--read-only", "--volume=/etc/broker", "--tmpfs=/var/lib/broker:uid=65534", "--interactive", image)
	defer exec.Command("docker", "rm", "--volumes", id).Run()
	succeed(t, "", "docker", "cp", b.config, id+":/etc/broker/servers.json")
	serves(t, exec.Command("docker", "start", "--attach", "--interactive", id))
	if got := succeed(t, "", "docker", "run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL", image, "version"); !strings.HasPrefix(got, "broker 1.2.3-rc.1 (") {
		t.Errorf("version: %s", got)
	}
	t.Run("servers", func(t *testing.T) { b.testServersImage(t, image) })
}

// testServersImage builds the image with Node, without uv, over the Node of this machine.
func (b built) testServersImage(t *testing.T, image string) {
	needs(t, "node")
	root := succeed(t, "", "git", "rev-parse", "--show-toplevel")
	base, servers := "mcpbroker/test-base:"+testVersion, image+"-servers"
	succeed(t, "", "sh", "-ec", `"$1/images/node/rootfs.sh" | docker import - "$2"`, "sh", root, base)
	defer exec.Command("docker", "rmi", base).Run()
	succeed(t, "", "docker", "build", "--target=node", "--build-arg=BASE="+base, "--build-arg=BROKER="+image, "--tag="+servers, filepath.Join(root, "images", "servers"))
	defer exec.Command("docker", "rmi", servers).Run()
	run := []string{"docker", "run", "--rm", "--network=none", "--read-only", "--cap-drop=ALL"}
	if got := succeed(t, "", append(run, "--entrypoint=/usr/bin/node", servers, "-p", "6 * 7")...); got != "42" {
		t.Errorf("node: %s", got)
	}
	if got := succeed(t, "", append(run, servers, "version")...); !strings.HasPrefix(got, "broker "+testVersion+" (") {
		t.Errorf("version: %s", got)
	}
}

func (b built) testMcpb(t *testing.T) {
	needs(t, "python3") // unpacks with permissions
	dir := t.TempDir()
	succeed(t, "", "python3", "-c", `import os, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
for i in z.infolist(): os.chmod(z.extract(i, sys.argv[2]), i.external_attr >> 16)`, b.named(b.mcpbName(b.here)), dir)
	var m struct {
		Server struct {
			Start struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
	}
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "manifest.json"))), &m); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("${__dirname}", dir, "${user_config.config}", b.config)
	command := append([]string{m.Server.Start.Command}, m.Server.Start.Args...)
	for i := range command {
		command[i] = fill.Replace(command[i])
	}
	serves(t, exec.Command(command[0], command[1:]...))
	if mcpb, err := exec.LookPath("mcpb"); err == nil {
		succeed(t, "", mcpb, "validate", filepath.Join(dir, "manifest.json"))
	}
}

// The broker reads its own plugin, and so does Claude Code, where it is installed.
func (b built) testPlugin(t *testing.T) {
	if b.here.os == "windows" {
		t.Skip("unpacks with tar")
	}
	dir := t.TempDir()
	unpack(t, b.named(b.archiveName(b.here)), dir)
	broker := filepath.Join(dir, "broker")
	succeed(t, "", broker, "plugins", "install", "--yes", b.named(b.pluginName()))
	defer succeed(t, "", broker, "plugins", "remove", "broker")
	got := succeed(t, "", broker, "plugins", "list", "--json")
	for _, want := range []string{`"version": "` + testVersion + `"`, `"broker:broker"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if got := succeed(t, "", broker, "skills", "list", "--json"); !strings.Contains(got, `broker-code`) {
		t.Errorf("skills: %s", got)
	}
}

func (b built) testDescriptions(t *testing.T) {
	var statement struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest struct{ GitCommit string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, b.named("broker_1.2.3-rc.1.intoto.json"))), &statement); err != nil {
		t.Fatal(err)
	}
	files, _ := os.ReadDir(b.out)
	if statement.Type != "https://in-toto.io/Statement/v1" || len(statement.Subject) != len(files)-2 { // all but itself and the checksums
		t.Errorf("provenance: %s of %d files, there are %d", statement.Type, len(statement.Subject), len(files))
	}
	for _, s := range statement.Subject {
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, b.named(s.Name))))); got != s.Digest.SHA256 {
			t.Errorf("provenance: %s has %s, want %s", s.Name, got, s.Digest.SHA256)
		}
	}
	if head := succeed(t, "", "git", "rev-parse", "HEAD"); statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest.GitCommit != head {
		t.Errorf("provenance: the commit is not %s", head)
	}
	bom := read(t, b.named("broker_1.2.3-rc.1_"+b.here.os+"_"+b.here.arch+".cdx.json"))
	for _, want := range []string{`"pkg:golang/stdlib@` + runtime.Version()[2:], `"pkg:golang/github.com/dop251/goja@`} {
		if !strings.Contains(bom, want) {
			t.Errorf("the SBOM has no %s", want)
		}
	}
}

// serves starts an MCP server, lists its tools, runs a script with it and waits for its end.
func serves(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() }).Stop()
	lines := bufio.NewReader(out)
	for _, turn := range []struct{ request, want string }{
		{`"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, `"version":"` + testVersion + `"`},
		{`"method":"notifications/initialized"`, ""},
		{`"id":2,"method":"tools/list"`, `"name":"execute_code"`},
		{`"id":3,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"return 6 * 7"}}`, `\"result\":42`},
	} {
		fmt.Fprintln(in, `{"jsonrpc":"2.0",`+turn.request+`}`)
		for turn.want != "" { // the server may send notifications too
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %s, %v", turn.request, line, err)
			}
			if strings.Contains(line, `"id":`) {
				if !strings.Contains(line, turn.want) {
					t.Errorf("%s: %s", turn.request, line)
				}
				break
			}
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("serve: %v", err)
	}
}

// needs skips a test without a program, except in CI, which has the named ones.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("BROKER_CI") != "" && strings.Contains("dpkg npm docker", program) {
		t.Fatalf("%s is not installed", program)
	}
	t.Skipf("%s is not installed", program)
}

func succeed(t *testing.T, stdin string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s%s", command, err, &stdout, &stderr)
	}
	return strings.TrimSpace(stdout.String())
}

// unpack reads an apk too: three archives in a row are one to gzip and tar.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	succeed(t, "", "tar", "-xzf", archive, "-C", dir)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

func TestApkVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3_rc1", "1.2.3-beta2": "1.2.3_beta2", "1.2.3-next": "1.2.3_pre",
		"0.0.0-20261123174307-751588d5bed5-dirty": "0.0.0_pre20261123174307",
	} {
		if got := apkVersion(version); got != want {
			t.Errorf("apkVersion(%q) = %q, want %q", version, got, want)
		}
	}
}
