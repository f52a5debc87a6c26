// Package service describes a program for the service managers that start it when a user logs in:
// systemd, launchd and the Windows Task Scheduler. It returns texts and commands, and runs none.
package service

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
)

// A Spec is a program that runs for a user.
type Spec struct {
	// Name is the name of the service: letters, digits, hyphens and dots.
	Name        string
	Description string
	// Program is the full path of the program, with its Args.
	Program string
	Args    []string
	// Env is added to the environment of the service.
	Env map[string]string
	// Dir is its working directory, and Log the file for its output where the service manager
	// keeps none.
	Dir, Log string
}

// A User is the owner of a service.
type User struct {
	Home string
	// ConfigHome is XDG_CONFIG_HOME; empty means .config in Home.
	ConfigHome string
	ID         string // the number of the user on Unix
	Name       string // with the domain on Windows
	// StateDir is a folder for temporary files of the installation.
	StateDir string
}

// A Plan contains the file of a service and the commands to manage it, each with its arguments.
type Plan struct {
	Manager string // its name for people
	Path    string
	Data    []byte
	// Before runs before the file is written, and may fail.
	Before  [][]string
	Install [][]string
	// Uninstall runs before the file is removed, After afterwards.
	Uninstall, After [][]string
	Restart          [][]string
	Status           []string
}

// ErrSystem is the error for a system without a known service manager.
var ErrSystem = errors.New("no known service manager on this system")

// For returns the plan for an operating system, by its name in Go.
func For(system string, s Spec, u User) (Plan, error) {
	for _, text := range append([]string{s.Name, s.Program, s.Dir, s.Log}, s.Args...) {
		if strings.ContainsAny(text, "\x00\r\n") {
			return Plan{}, fmt.Errorf("%q cannot be in the file of a service", text)
		}
	}
	switch system {
	case "linux":
		return systemd(s, u), nil
	case "darwin":
		return launchd(s, u), nil
	case "windows":
		return scheduler(s, u), nil
	}
	return Plan{}, fmt.Errorf("%s: %w", system, ErrSystem)
}

// systemd returns the plan for a user unit.
func systemd(s Spec, u User) Plan {
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=%s\n\n[Service]\nType=exec\nExecStart=", strings.ReplaceAll(s.Description, "%", "%%"))
	for i, arg := range append([]string{s.Program}, s.Args...) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(unitWord(strings.ReplaceAll(arg, "$", "$$")))
	}
	b.WriteByte('\n')
	if s.Dir != "" {
		fmt.Fprintf(&b, "WorkingDirectory=%s\n", strings.ReplaceAll(s.Dir, "%", "%%"))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&b, "Environment=%s\n", unitWord(name+"="+s.Env[name]))
	}
	b.WriteString("Restart=on-failure\nKillMode=mixed\nTimeoutStopSec=15\n\n[Install]\nWantedBy=default.target\n")
	config := u.ConfigHome
	if config == "" {
		config = path.Join(u.Home, ".config")
	}
	unit := s.Name + ".service"
	systemctl := func(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }
	reload := systemctl("daemon-reload")
	return Plan{
		Manager: "systemd", Path: path.Join(config, "systemd", "user", unit), Data: []byte(b.String()),
		Install:   [][]string{reload, systemctl("enable", "--now", unit)},
		Uninstall: [][]string{systemctl("disable", "--now", unit)}, After: [][]string{reload},
		Restart: [][]string{systemctl("restart", unit)}, Status: systemctl("is-active", unit),
	}
}

// unitWord quotes a word in a line of a unit.
func unitWord(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}

// launchd returns the plan for a user agent.
func launchd(s Spec, u User) Plan {
	var b strings.Builder
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\">\n<dict>\n")
	key := func(name string) { fmt.Fprintf(&b, "\t<key>%s</key>\n", escaped(name)) }
	text := func(name, value string) {
		key(name)
		fmt.Fprintf(&b, "\t<string>%s</string>\n", escaped(value))
	}
	text("Label", s.Name)
	key("ProgramArguments")
	b.WriteString("\t<array>\n")
	for _, arg := range append([]string{s.Program}, s.Args...) {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escaped(arg))
	}
	b.WriteString("\t</array>\n")
	if s.Dir != "" {
		text("WorkingDirectory", s.Dir)
	}
	key("EnvironmentVariables")
	b.WriteString("\t<dict>\n")
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", escaped(name), escaped(s.Env[name]))
	}
	b.WriteString("\t</dict>\n")
	key("RunAtLoad")
	b.WriteString("\t<true/>\n")
	key("KeepAlive")
	b.WriteString("\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n")
	text("StandardOutPath", s.Log)
	text("StandardErrorPath", s.Log)
	b.WriteString("</dict>\n</plist>\n")
	file := path.Join(u.Home, "Library", "LaunchAgents", s.Name+".plist")
	domain := "gui/" + u.ID
	target := domain + "/" + s.Name
	return Plan{
		Manager: "launchd", Path: file, Data: []byte(b.String()),
		Before:    [][]string{{"launchctl", "bootout", target}},
		Install:   [][]string{{"launchctl", "enable", target}, {"launchctl", "bootstrap", domain, file}},
		Uninstall: [][]string{{"launchctl", "bootout", target}},
		Restart:   [][]string{{"launchctl", "kickstart", "-k", target}},
		Status:    []string{"launchctl", "print", target},
	}
}

// scheduler returns the plan for a task that starts when the user logs on. A console program would
// show a window, so a program without one starts it.
func scheduler(s Spec, u User) Plan {
	words := []string{"--headless", s.Program}
	words = append(words, s.Args...)
	for i, w := range words {
		words[i] = windowsWord(w)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>%s</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>%s</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>%[2]s</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>3</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>conhost.exe</Command>
      <Arguments>%[3]s</Arguments>
      <WorkingDirectory>%[4]s</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`, escaped(s.Description), escaped(u.Name), escaped(strings.Join(words, " ")), escaped(s.Dir))
	file := strings.TrimRight(u.StateDir, `\/`) + `\` + s.Name + ".xml"
	task := func(verb string, more ...string) []string {
		return append([]string{"schtasks", "/" + verb, "/tn", s.Name}, more...)
	}
	return Plan{
		Manager: "the Task Scheduler", Path: file, Data: utf16File(strings.ReplaceAll(b.String(), "\n", "\r\n")),
		Before:    [][]string{task("end")},
		Install:   [][]string{task("create", "/xml", file, "/f"), task("run")},
		Uninstall: [][]string{task("end"), task("delete", "/f")},
		Restart:   [][]string{task("end"), task("run")},
		Status:    task("query"),
	}
}

// windowsWord quotes a word for the C runtime of Windows.
func windowsWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\"") {
		return word
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, c := range word {
		switch c {
		case '\\':
			slashes++
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, 2*slashes+1))
		default:
			b.WriteString(strings.Repeat(`\`, slashes))
		}
		slashes = 0
		b.WriteRune(c)
	}
	b.WriteString(strings.Repeat(`\`, 2*slashes) + `"`)
	return b.String()
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder does not fail
	return b.String()
}

// utf16File returns a text as schtasks reads it.
func utf16File(text string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}
