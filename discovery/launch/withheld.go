package launch

import (
	"runtime"
	"slices"
	"strings"
)

// wanted are variables that configure well-known programs or contain their credentials.
// Shells have them; servers get them only if the configuration passes them on.
var wanted = []string{
	"KUBECONFIG", "HELM_CONFIG_HOME",
	"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE",
	"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME",
	"AZURE_CONFIG_DIR", "AZURE_TENANT_ID", "AZURE_SUBSCRIPTION_ID",
	"SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GNUPGHOME",
	"DOCKER_CONFIG", "CONTAINER_HOST", "BUILDKIT_HOST",
	"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSFILE", "PGSERVICEFILE", "MYSQL_HOME",
	"VAULT_ADDR", "NOMAD_ADDR", "CONSUL_HTTP_ADDR", "TF_CLI_CONFIG_FILE", "TF_DATA_DIR",
	"GH_HOST", "GH_CONFIG_DIR", "GITLAB_HOST", "NETRC",
	"NODE_OPTIONS", "NODE_PATH", "NODE_TLS_REJECT_UNAUTHORIZED", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PIP_INDEX_URL", "PIP_CONFIG_FILE",
	"JAVA_HOME", "JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "GRADLE_USER_HOME", "GOPATH", "GOPROXY", "GOPRIVATE", "CARGO_HOME", "RUSTUP_HOME", "DOTNET_ROOT", "ANDROID_HOME",
	"DBUS_SESSION_BUS_ADDRESS", "LD_LIBRARY_PATH", "CHROME_PATH", "PLAYWRIGHT_BROWSERS_PATH", "PUPPETEER_EXECUTABLE_PATH",
	"OLLAMA_HOST",
}

// Withheld returns the variables of environ that well-known programs read and that a
// server with this configured environment does not get, sorted by name: those that
// servers never inherit, and those that they do not inherit because their value
// contains credentials.
func Withheld(environ []string, configured map[string]string) []string {
	gets := make(map[string]bool)
	for _, kv := range Environment(environ, configured) {
		name, _, _ := strings.Cut(kv, "=")
		gets[fold(name)] = true
	}
	var names []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value == "" || gets[fold(name)] || slices.Contains(names, name) {
			continue
		}
		if slices.Contains(wanted, fold(name)) || slices.Contains(inherited, fold(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fold returns the name of a variable in the form in which names are compared.
func fold(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
