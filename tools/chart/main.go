// Chart prints the manifests that a Helm chart makes, as helm template does:
//
//	go -C tools/chart run . ../../deploy/helm/broker [values.yaml...]
//
// It is a module of its own, so that the broker does not depend on Helm.
package main

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: chart DIR [values.yaml...]")
		os.Exit(2)
	}
	files, err := render(os.Args[1], os.Args[2:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
	for _, f := range files {
		fmt.Printf("---\n%s\n", f)
	}
}

// render returns the manifests of the chart in dir, each later file of values
// before the earlier ones and before those of the chart.
func render(dir string, values ...string) ([]string, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	all := chartutil.Values{}
	for _, name := range slices.Backward(values) {
		v, err := chartutil.ReadValuesFile(name)
		if err != nil {
			return nil, err
		}
		all = chartutil.CoalesceTables(all, v)
	}
	release := chartutil.ReleaseOptions{Name: "broker", Namespace: "default", Revision: 1, IsInstall: true}
	all, err = chartutil.ToRenderValues(c, all, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var files []string
	for name, text := range rendered {
		if text = strings.TrimSpace(text); text != "" && path.Base(name) != "NOTES.txt" {
			files = append(files, text)
		}
	}
	slices.Sort(files)
	return files, nil
}
