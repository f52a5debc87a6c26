package packages

import (
	"encoding/json"
	"testing"
)

func TestRangesAsNPMReadsThem(t *testing.T) {
	for _, c := range []struct {
		version, text string
		want          bool
	}{
		{"20.20.2", ">=18", true}, {"20.20.2", ">= 18.0.0", true}, {"20.20.2", ">=22", false}, {"20.20.2", ">20", false}, {"21.0.0", ">20", true},
		{"20.20.2", "^18.0.0 || ^20.0.0 || >=22", true}, {"21.1.0", "^18.0.0 || ^20.0.0 || >=22", false}, {"20.5.0", "^20.10", false},
		{"20.20.2", "18 || 20 || 22", true}, {"20.20.2", "20.x", true}, {"20.20.2", "*", true}, {"20.20.2", "", true}, {"20.20.2", "x", true},
		{"20.20.2", "18.x - 20.x", true}, {"20.20.2", "16 - 18", false}, {"20.20.2", ">=18 <21", true}, {"20.20.2", ">=18.0.0 <20.0.0", false},
		{"0.2.9", "^0.2.3", true}, {"0.3.0", "^0.2.3", false}, {"0.0.4", "^0.0.3", false}, {"1.2.9", "~1.2.3", true}, {"1.3.0", "~1.2", false}, {"1.9.0", "~1", true},
		{"20.20.2", "<=20", true}, {"20.20.2", "<20.20.2", false}, {"20.20.2", "v20.20.2", true}, {"20.20.2", "=20.20.1", false},
		{"20.20.2", "latest", false}, {"20.20.2", "node 18", false}, {"nothing", "*", false}, {"20.0.0-rc.1", ">=20", true},
	} {
		if got := inRange(c.version, c.text); got != c.want {
			t.Errorf("inRange(%s, %q) = %v", c.version, c.text, got)
		}
	}
}

func TestReleasesForOtherMachines(t *testing.T) {
	here := machine{node: "20.20.2", npm: "10.8.2", os: "linux", cpu: "x64", libc: "glibc"}
	for text, want := range map[string]string{
		`{}`:                                    "",
		`{"engines": {"node": ">=18"}}`:         "",
		`{"engines": {"node": ">=22.12"}}`:      "needs Node.js >=22.12, this is 20.20.2",
		`{"engines": {"npm": ">=11"}}`:          "needs npm >=11, this is 10.8.2",
		`{"engines": ["node >= 0.6"]}`:          "",
		`{"os": ["darwin", "win32"]}`:           "is for the system darwin, win32, this is linux",
		`{"os": "linux"}`:                       "",
		`{"os": ["!win32"], "cpu": ["!ia32"]}`:  "",
		`{"os": ["!linux"]}`:                    "is for the system !linux, this is linux",
		`{"os": ["any"], "cpu": ["x64"]}`:       "",
		`{"cpu": ["arm64"]}`:                    "is for the processor arm64, this is x64",
		`{"os": ["linux"], "libc": ["musl"]}`:   "is for the C library musl, this is glibc",
		`{"os": {"no": 1}, "deprecated": true}`: "",
	} {
		var r release
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.unfit(here); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzInRange(f *testing.F) {
	f.Add("1.2.3", ">=1 <2 || ~3")
	f.Fuzz(func(t *testing.T, version, text string) { _ = inRange(version, text) })
}
