package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unnamed are the fields without a key of their own: a list in place of a boolean, a boolean in
// place of a duration, what the members of an object say, where a quota or a server is from, and
// the parts of a server's instructions, which have one key.
var unnamed = []string{
	"Skills.TrustedProjects", "Plugins.Enabled", "Quota.Where", "Quota.Profile",
	"Server.Name", "Server.OfPlugin", "Server.Permit", "Server.File", "Server.KeepAlive",
	"Instructions.Off", "Instructions.Text", "Instructions.MaxChars",
}

// alive are the structs whose changes a running broker always applies.
var alive = []string{"Server", "OAuth", "Override", "Profile", "Token", "Instructions"}

// Each setting has the tags that it is read by, and each default can stand in a file.
func TestSettingsAreComplete(t *testing.T) {
	seen := 0
	var check func(typ reflect.Type)
	check = func(typ reflect.Type) {
		if typ == reflect.TypeFor[time.Time]() {
			return
		}
		for f := range typ.Fields() {
			name := typ.Name() + "." + f.Name
			key, tagged := f.Tag.Lookup("name")
			if tagged == slices.Contains(unnamed, name) {
				t.Errorf("%s has the key %q", name, key)
			}
			if !tagged {
				continue
			}
			seen++
			elem := f.Type
			for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
				elem = elem.Elem()
			}
			reload, read := f.Tag.Get("reload"), f.Tag.Get("read")
			_, known := textReaders[read]
			most, err := strconv.Atoi(f.Tag.Get("most"))
			least, ok := parseSize(f.Tag.Get("least"))
			most64, ok64 := parseSize(f.Tag.Get("most"))
			switch {
			case elem.Kind() == reflect.Struct && elem.PkgPath() == typ.PkgPath():
				check(elem)
				if f.Type.Kind() == reflect.Struct {
					continue // the settings in it decide
				}
			case read == "own" || elem == reflect.TypeFor[time.Duration]():
			case elem.Kind() == reflect.Int && (err != nil || most < 1):
				t.Errorf("%s has no largest number", name)
			case elem.Kind() == reflect.Int64 && (!ok || !ok64 || least < 1 || most64 < least):
				t.Errorf("%s has no bounds", name)
			case elem.Kind() == reflect.String && !known:
				t.Errorf("%s is read by %q, which is unknown", name, read)
			}
			if slices.Contains(alive, typ.Name()) {
				if reload != "" {
					t.Errorf(`%s has the tag reload:"%s", though all of its changes are applied`, name, reload)
				}
				continue
			}
			if reload != "live" && reload != "restart" {
				t.Errorf(`%s has the tag reload:"%s", want "live" or "restart"`, name, reload)
			}
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Broker](), reflect.TypeFor[Server](), reflect.TypeFor[Override](), reflect.TypeFor[Profile](), reflect.TypeFor[Token]()} {
		check(typ)
	}
	if seen < 130 {
		t.Errorf("%d settings were checked", seen)
	}
}

// A file with every default is read as one without any.
func TestDefaultsCanBeWritten(t *testing.T) {
	defaults := written(reflect.ValueOf(Broker{}.WithDefaults()))
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{}, "broker": defaults})
	if err != nil {
		t.Fatal(err)
	}
	cfg := parse(t, string(file))
	if diff := cmp.Diff(Broker{}.WithDefaults(), cfg.Broker); diff != "" || len(defaults) < 10 {
		t.Errorf("%s\n(-want +got):\n%s", file, diff)
	}
}

// written returns the settings with a default as they stand in a file.
func written(v reflect.Value) map[string]any {
	out := make(map[string]any)
	for f, value := range v.Fields() {
		key := f.Tag.Get("name")
		text, ok := f.Tag.Lookup("default")
		switch {
		case value.Kind() == reflect.Struct:
			if within := written(value); len(within) > 0 {
				out[key] = within
			}
		case !ok:
		case value.Kind() == reflect.Int || value.Kind() == reflect.Pointer:
			out[key] = json.RawMessage(text)
		default:
			out[key] = text
		}
	}
	return out
}

// A change that a running broker does not apply is named; what is written out but means
// the default is no change.
func TestNeedRestart(t *testing.T) {
	yes := true
	for _, tt := range []struct {
		was, is Broker
		want    []string
	}{
		{Broker{}, Broker{Durability: "normal", Audit: Audit{Code: &yes, Days: 30}, Sandbox: Sandbox{Runner: "goja"}}, nil},
		{Broker{}, Broker{Mode: "tools", Skills: Skills{Paths: []string{"x"}}, Sandbox: Sandbox{MaxCalls: 3}}, nil},
		{Broker{}, Broker{Durability: "full", Metrics: "127.0.0.1:9464", Audit: Audit{Payloads: true}, Telemetry: Telemetry{Endpoint: "http://c:4318"}},
			[]string{"durability", "audit.payloads", "telemetry.endpoint", "metrics"}},
		{Broker{StateKey: []string{"a"}}, Broker{StateKey: []string{"a", "b"}, Skills: Skills{SessionDir: "s"}}, []string{"stateKey", "skills.sessionDir"}},
		{Broker{Sandbox: Sandbox{Remote: &RemoteSandbox{CA: "a"}}}, Broker{Sandbox: Sandbox{Remote: &RemoteSandbox{CA: "b"}}, HTTP: HTTP{SignIn: SignIn{User: "email"}}},
			[]string{"sandbox.remote", "http.signIn"}},
	} {
		if diff := cmp.Diff(tt.want, tt.was.NeedRestart(tt.is)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.is, diff)
		}
	}
}
