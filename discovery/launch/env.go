package launch

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/internal/spawn"
)

// inherited are the variables that every server gets if the broker has them.
// Everything else in the broker's environment stays with the broker.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "TZ",
	"LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"NVM_DIR", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "PYENV_ROOT",
	// Windows programs do not start without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
}

// inheritedPrefixes are families of such variables.
var inheritedPrefixes = []string{"LC_", "XDG_", "npm_config_", "NPM_CONFIG_", "UV_"}

// Environment makes a server's environment: what it inherits of environ, then
// what is configured. The result is sorted.
func Environment(environ []string, configured map[string]string) []string {
	vars := make(map[string]string)
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != "" && inherits(name) && !HoldsCredentials(name, value) {
			vars[name] = value
		}
	}
	for name, value := range configured {
		if runtime.GOOS == "windows" { // names differ in case only
			for have := range vars {
				if strings.EqualFold(have, name) {
					delete(vars, have)
				}
			}
		}
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func inherits(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	if slices.Contains(inherited, name) {
		return true
	}
	return slices.ContainsFunc(inheritedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// HoldsCredentials reports whether a variable is, by its name, a secret or, by
// its value, a URL with user and password.
func HoldsCredentials(name, value string) bool {
	lower := strings.ToLower(name)
	for _, word := range []string{"auth", "token", "password", "passwd", "secret", "credential", "apikey", "api_key", "username", "_key"} {
		if strings.Contains(lower, word) && lower != "xauthority" && lower != "username" {
			return true
		}
	}
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	return strings.Contains(authority, "@")
}

// LookPath finds command in the PATH that the server will have, which is not
// the broker's if the configuration sets one.
func LookPath(command, dir string, env []string) (string, error) {
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, filepath.Separator) {
		full := command
		if !filepath.IsAbs(full) && dir != "" {
			full = filepath.Join(dir, full)
		}
		return exec.LookPath(full)
	}
	return spawn.LookPath(command, env)
}
