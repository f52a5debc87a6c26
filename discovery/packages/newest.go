package packages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// newest returns the version that "npm install" would choose here: the one tagged
// "latest" if it runs on this machine, or else the highest that does. Unlike npm, it
// never chooses a tagged version that does not run here.
func (n *npm) newest(ctx context.Context, known string) (version, skipped string, err error) {
	asked := n.spec.asked(n.spec.Version)
	isRange := n.spec.Version == "" || strings.TrimSpace(comparator.ReplaceAllString(n.spec.Version, "")) == ""
	if n.spec.Version != "" && n.spec.Version != "*" && isRange { // for "*", npm view shows only the latest
		list, m, err := n.view(ctx, asked)
		if err != nil {
			return "", "", err
		}
		return pick(list, m)
	}
	list, m, err := n.view(ctx, asked) // the tagged versions
	if err != nil {
		return "", "", err
	}
	latest := list[len(list)-1]
	why := latest.unfit(m)
	switch {
	case why == "" && (!isRange || !latest.deprecated()):
		return latest.Version, "", nil
	case !isRange:
		return "", latest.Version + " " + why, nil
	}
	from := ">=0"
	if known != "" {
		from = ">=" + known
	}
	if list, m, err = n.view(ctx, n.spec.asked(from)); err != nil {
		return "", "", err
	}
	version, skipped, err = pick(list, m)
	if why != "" {
		skipped = latest.Version + " " + why
	}
	return version, skipped, err
}

// pick returns the best of the releases in a range, and the reason no higher one is
// chosen.
func pick(list []release, m machine) (version, skipped string, err error) {
	best, fits, top := release{}, false, release{}
	for _, r := range list {
		if top.Version == "" || older(top.Version, r.Version) {
			top = r
		}
		if r.unfit(m) != "" {
			continue
		}
		better := !fits || best.deprecated() && !r.deprecated() || best.deprecated() == r.deprecated() && older(best.Version, r.Version)
		if r.Version == r.Latest && !r.deprecated() { // npm prefers it to a higher one
			return r.Version, "", nil
		}
		if better {
			best, fits = r, true
		}
	}
	if why := top.unfit(m); why != "" {
		skipped = top.Version + " " + why
	}
	return best.Version, skipped, nil
}

// view asks the registry for the releases that match a spec such as "name@^1", at least
// one, and this machine for its properties.
func (n *npm) view(ctx context.Context, wanted string) ([]release, machine, error) {
	out, err := output(ctx, n.c, n.root, append(n.npm[:len(n.npm):len(n.npm)], "view", "--prefix", n.root, "--json", "--prefer-online", "--no-update-notifier", "--loglevel=error",
		wanted, "version", "engines", "os", "cpu", "libc", "deprecated", "dist-tags.latest"))
	if err != nil {
		return nil, machine{}, err
	}
	var all []json.RawMessage
	if json.Unmarshal([]byte(out), &all) != nil {
		all = []json.RawMessage{json.RawMessage(out)}
	}
	var list []release
	for _, one := range all {
		var r release
		if json.Unmarshal(one, &r.Version) != nil { // without requirements it is only the version
			_ = json.Unmarshal(one, &r) // checked next
		}
		if npmNumber.MatchString(r.Version) {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, machine{}, errors.New("npm view printed no version")
	}
	m, err := n.machine(ctx, slices.ContainsFunc(list, func(r release) bool { return bytes.Contains(r.Engines, []byte(`"npm"`)) }))
	return list, m, err
}

const askMachine = `[process.versions.node,process.platform,process.arch,process.platform==="linux"?((process.report.excludeNetwork=true,process.report.getReport().header.glibcVersionRuntime)?"glibc":"musl"):"none"].join(" ")`

// machine asks node for its version and platform, and npm for its version if a release
// requires one.
func (n *npm) machine(ctx context.Context, withNPM bool) (machine, error) {
	out, err := output(ctx, n.c, n.c.Dir, []string{n.node, "-p", askMachine})
	if err != nil {
		return machine{}, fmt.Errorf("ask node for its version: %w", err)
	}
	words := strings.Fields(out)
	if len(words) != 4 {
		return machine{}, errors.New("node printed no version")
	}
	m := machine{node: words[0], os: words[1], cpu: words[2], libc: words[3]}
	if withNPM {
		if out, err = output(ctx, n.c, n.root, append(slices.Clone(n.npm), "--version")); err != nil {
			return machine{}, fmt.Errorf("ask npm for its version: %w", err)
		}
		m.npm = strings.TrimSpace(out)
	}
	return m, nil
}
