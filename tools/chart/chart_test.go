package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const chart = "../../deploy/helm/broker"

type object struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Replicas *int
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int
				SecurityContext               security
				Containers                    []struct {
					Args            []string
					Env             []struct{ Name string }
					SecurityContext security
					VolumeMounts    []struct{ MountPath string }
				}
				Volumes []map[string]any
			}
		}
	}
}

type security struct {
	RunAsNonRoot, ReadOnlyRootFilesystem bool
	AllowPrivilegeEscalation             *bool
	SeccompProfile                       struct{ Type string }
	Capabilities                         struct{ Drop []string }
}

func objects(t *testing.T, values string) map[string]object {
	t.Helper()
	var files []string
	if values != "" {
		name := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(name, []byte(values), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	texts, err := render(chart, files...)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]object)
	for _, text := range texts {
		var o object
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		all[o.Kind] = o
	}
	return all
}

func kinds(all map[string]object) []string {
	var list []string
	for kind := range all {
		list = append(list, kind)
	}
	slices.Sort(list)
	return list
}

// The chart makes what its values say, and pods for a namespace with restricted
// Pod Security.
func TestChart(t *testing.T) {
	all := objects(t, "")
	if got, want := kinds(all), []string{"ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"}; !slices.Equal(got, want) {
		t.Errorf("objects %q, want %q", got, want)
	}
	d := all["Deployment"].Spec
	pod := d.Template.Spec
	c := pod.Containers[0]
	s := c.SecurityContext
	if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" ||
		!s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("security %+v %+v", pod.SecurityContext, s)
	}
	if len(c.Env) != 3 || d.Replicas == nil || *d.Replicas != 2 {
		t.Errorf("environment %+v, replicas %v", c.Env, d.Replicas)
	}
	var config struct {
		Broker struct{ State string }
	}
	if err := json.Unmarshal([]byte(all["ConfigMap"].Data["servers.json"]), &config); err != nil || config.Broker.State != "${BROKER_STATE}" {
		t.Errorf("servers.json: %+v, %v", config, err)
	}

	all = objects(t, "autoscaling: {enabled: true}\nnetworkPolicy: {enabled: false}\ndrainSeconds: 100\nmetrics: {enabled: false}\n")
	if got, want := kinds(all), []string{"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"}; !slices.Equal(got, want) {
		t.Errorf("objects %q, want %q", got, want)
	}
	d = all["Deployment"].Spec
	if d.Replicas != nil {
		t.Error("the Deployment sets replicas beside an autoscaler")
	}
	if pod = d.Template.Spec; pod.TerminationGracePeriodSeconds < 100 || !slices.Contains(pod.Containers[0].Args, "100s") {
		t.Errorf("pods have %d s to end, arguments %q", pod.TerminationGracePeriodSeconds, pod.Containers[0].Args)
	}
}

// The Compose file names files that are there, and the brokers that nginx expects.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct{ Volumes []string }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		for _, v := range s.Volumes {
			if file, _, _ := strings.Cut(v, ":"); strings.HasPrefix(file, "./") {
				if _, err := os.Stat("../../deploy/" + file); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	nginx, err := os.ReadFile("../../deploy/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	servers := regexp.MustCompile(`server (\w+):8080`).FindAllStringSubmatch(string(nginx), -1)
	if len(servers) != 2 {
		t.Errorf("nginx has the brokers %q", servers)
	}
	for _, m := range servers {
		if _, ok := compose.Services[m[1]]; !ok {
			t.Errorf("nginx expects %s, which Compose does not start", m[1])
		}
	}
}
