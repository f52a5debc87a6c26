package script

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

func TestIntegersThatANumberCannotHoldAreRefused(t *testing.T) {
	for code, want := range map[string]string{
		"await f({ id: 2047948614742839297 })":                            "agent.ts:1:15: 2047948614742839297 is beyond 2^53, so as a number it would be 2047948614742839300: write 2047948614742839297n",
		"return rows.find((r) => r.id === 9007199254740993)":              "9007199254740993 is beyond 2^53, so as a number it would be 9007199254740992: write 9007199254740993n",
		"new Map([[9223372036854775807, 'a']])":                           "write 9223372036854775807n",
		"return [1, -18446744073709551615]":                               "write 18446744073709551615n",
		"return `id ${10000000000000001}`":                                "write 10000000000000001n",
		"return 9_223_372_036_854_775_807":                                "write 9_223_372_036_854_775_807n",
		"return 0x8000000000000000":                                       "as a number it would be 9223372036854776000",
		"return 0x20000000000001":                                         "write 0x20000000000001n",
		"return 0b100000000000000000000000000000000000000000000000000001": "n, as results have it",
		"return 0o400000000000000001":                                     "write 0o400000000000000001n",
		"return { 2047948614742839297: 'name' }":                          "as a key, write '2047948614742839297'",
		"return 2047948614742839297..toString()":                          "write 2047948614742839297n",
		"return id === 9007199254740992":                                  "9007199254740992 is beyond 2^53, where results have bigints and a number is never equal to one: write 9007199254740992n",
		"return 1000000000000000000 !== id":                               "1e18 for a float",
		"return seen.has(-9007199254740992)":                              "write 9007199254740992n",
		"switch (id) { case 9007199254740992: f() }":                      "write 9007199254740992n",
		"return 9223372036854775808":                                      "as a number it would be 9223372036854776000",
		"switch (id) { case 2047948614742839297: f() }":                   "write 2047948614742839297n",
		"return 1" + strings.Repeat("0", 500):                             "is beyond 2^53",
	} {
		src, err := Read(Program{Code: code})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "0 tools called") {
			t.Errorf("Read(%q) = %v, %v; want %q", code, src, err, want)
		}
	}
	for _, code := range []string{
		"return 2047948614742839297n", "return 9007199254740991 + 0x1fffffffffffff", "return 1e21 + 0.1 + 1e400 + 0.12345678901234567890",
		"return 12345678901234567.89", "return n / 1000000000000000000", "console.log(123456789012345680000)", "return 0x20000000000000", "return '2047948614742839297'", "// 2047948614742839297", "return /2047948614742839297/", "return 0x0000000000000000000001",
		"return a.id2047948614742839297", "return 0xffffffffffffffffn", "return 20479486147428392.5e2", "return `2047948614742839297`",
	} {
		if _, err := Read(Program{Code: code}); err != nil {
			t.Errorf("Read(%q) = %v", code, err)
		}
	}
}

func TestIntegersInModulesAreRefused(t *testing.T) {
	src, err := Read(Program{
		Code:    "import { id } from './scripts/ids'; return id",
		Modules: []sandbox.Module{{Path: "scripts/ids", Source: "export const name = 'x';\nexport const id = 2047948614742839297;\n", Exports: []string{"id", "name"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = src.Build(0); err == nil || !strings.Contains(err.Error(), "scripts/ids: line 2: 2047948614742839297 is beyond 2^53") {
		t.Errorf("Build = %v", err)
	}
}
