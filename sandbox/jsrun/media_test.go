package jsrun

import (
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

const getMedia = `const r = await callMCPTool('echo__echo', { content: [{ type: 'text', text: 'hi' }, { type: 'image', mimeType: 'image/png', size: 70, ref: 'r_aaaaaaaaaaaaaaaaaaaaaaaaaa' }], n: 1 });
const img = r.content[1];
`

// A read of the bytes of an image says what there is, and how to get them.
func TestBytesOfAnImageAreNotInTheResult(t *testing.T) {
	for _, tt := range []struct{ code, name string }{
		{"return r.content[1].data.length", "data"},
		{"return atob(img.data).length", "data"},
		{"return Buffer.from(img['data'], 'base64').length", "data"},
		{"return await callMCPTool('echo__echo', { image: img.data })", "data"},
		{"return r.content.slice(1).map((c) => c.blob)", "blob"},
		{"return img.resource.blob", "resource"},
		{"return `data:image/png;base64,${img.base64}`", "base64"},
	} {
		for shape, shapes := range map[string]map[string]*sandbox.Shape{"unknown": nil, "known": {"echo__echo": {Props: map[string]*sandbox.Shape{"content": {Elem: &sandbox.Shape{Props: map[string]*sandbox.Shape{"type": {}, "size": {}}}}}}}} {
			out, _, _ := checked(t, sandbox.TypeScript, getMedia+tt.code, false, sandbox.Verdict{Shapes: shapes})
			want := "TypeError: " + tt.name + " is undefined: an image, a sound or a file is { type, mimeType, size, ref } in a script\n  at agent.ts:3:"
			if out.ExitCode != sandbox.ExitThrew || !strings.HasPrefix(out.Error, want) || !strings.Contains(out.Error, "\nhint: await results.get(ref, { encoding: 'base64' })") {
				t.Errorf("%s, shape %s: exit %d, %q, want %q", tt.code, shape, out.ExitCode, out.Error, want)
			}
		}
	}
	for _, code := range []string{"return (await img.arrayBuffer()).byteLength", "const { data } = img; return data.length"} {
		out, _, _ := checked(t, sandbox.TypeScript, getMedia+code, false, sandbox.Verdict{})
		if !strings.Contains(out.Error, " is undefined: an image, a sound or a file is {") || !strings.Contains(out.Error, "results.get(ref, { encoding: 'base64' })") {
			t.Errorf("%s: %q", code, out.Error)
		}
	}
	for code, note := range map[string]string{
		"return img.data ? 1 : 2":                                                 "line 3: data is undefined: an image",
		"return r.content.find((c) => c.blob) ?? 1":                               "line 3: blob is undefined: an image",
		"const { data } = img; return typeof data":                                "line 3: data is undefined: an image",
		"return r.content.map((c) => c.text).join()":                              "",
		"return [img.size, img.mimeType, img.ref, img.uri]":                       "",
		"return JSON.stringify({ ...img })":                                       "",
		"return Object.getPrototypeOf(img) === Object.prototype && 'data' in img": "",
		"return r.n": "",
	} {
		out, _, _ := checked(t, sandbox.TypeScript, getMedia+code, false, sandbox.Verdict{})
		if got := strings.Join(out.Reads, "; "); out.ExitCode != 0 || !strings.HasPrefix(got, note) || (got == "") != (note == "") {
			t.Errorf("%s: exit %d, %s, reads %q, want %q", code, out.ExitCode, out.Error, got, note)
		}
	}
}

// Records of servers that look like images are left alone.
func TestRecordsAreNoImages(t *testing.T) {
	for _, record := range []string{
		`{ type: 'image', mimeType: 'image/png', size: 70, ref: 'main' }`,
		`{ type: 'image', mimeType: 'image/png', size: 70 }`,
		`{ type: 'image', mimeType: 'image/png', size: 70, ref: 'r_aaaaaaaaaaaaaaaaaaaaaaaaaa', owner: 'x' }`,
	} {
		out, _, _ := checked(t, sandbox.TypeScript, "const r = await callMCPTool('echo__echo', { a: "+record+", b: { ref: 'r_x' } });\nreturn [r.a.data]", false, sandbox.Verdict{})
		if out.ExitCode != 0 || string(out.Value) != "[null]" {
			t.Errorf("%s: %+v", record, out)
		}
	}
}
