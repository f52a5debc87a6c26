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
		SessionAffinity string
		Ingress, Egress []struct {
			Ports    []struct{ Port any }
			From, To []struct {
				PodSelector struct{ MatchLabels map[string]string }
			}
		}
		Replicas    *int
		PolicyTypes []string
		ClusterIP   string
		Metrics     []struct {
			Type string
			Pods struct {
				Target struct{ AverageValue string }
			}
		}
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int
				RuntimeClassName              string
				SecurityContext               security
				Containers                    []struct {
					Args []string
					Env  []struct {
						Name      string
						ValueFrom struct{ FieldRef struct{ FieldPath string } }
					}
					Ports []struct {
						Name          string
						ContainerPort int
					}
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
		for doc := range strings.SplitSeq(text, "\n---\n") {
			var o object
			if err := yaml.UnmarshalStrict([]byte(doc), new(map[string]any)); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
			if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
				t.Fatalf("%v\n%s", err, doc)
			}
			kind := o.Kind + strings.TrimPrefix(o.Metadata.Name, "broker")
			if _, again := all[kind]; again {
				t.Errorf("%s is there twice", kind)
			}
			all[kind] = o
		}
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
	if len(c.Env) != 4 || d.Replicas == nil || *d.Replicas != 2 {
		t.Errorf("environment %+v, replicas %v", c.Env, d.Replicas)
	}
	// Any pod answers any request, and passes on to another, at its own address, what
	// that one has; nobody else may connect there.
	if affinity := all["Service"].Spec.SessionAffinity; affinity != "" {
		t.Errorf("the Service has the affinity %q", affinity)
	}
	if c.Env[0].Name != "POD_IP" || c.Env[0].ValueFrom.FieldRef.FieldPath != "status.podIP" || !slices.Contains(c.Args, "$(POD_IP):8081") ||
		c.Ports[1].Name != "replicas" || c.Ports[1].ContainerPort != 8081 {
		t.Errorf("pods take requests of others: %+v, %q, %+v", c.Env[0], c.Args, c.Ports)
	}
	between := all["NetworkPolicy"].Spec.Ingress[1]
	if between.Ports[0].Port != "replicas" || len(between.From) != 1 || between.From[0].PodSelector.MatchLabels["app.kubernetes.io/name"] != "broker" {
		t.Errorf("the NetworkPolicy lets %+v in from %+v", between.Ports, between.From)
	}
	limited := objects(t, "networkPolicy: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}\n")["NetworkPolicy"].Spec.Egress
	if len(limited) != 2 || limited[0].Ports[0].Port != 8081.0 || limited[0].To[0].PodSelector.MatchLabels["app.kubernetes.io/name"] != "broker" {
		t.Errorf("with egress of one's own, pods may connect to %+v", limited)
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

// With sandboxd there are pods that run scripts, as confined as those of brokers, and
// brokers that know them.
func TestChartSandboxd(t *testing.T) {
	all := objects(t, "sandboxd: {enabled: true, runtimeClassName: gvisor, autoscaling: {enabled: true, executions: 8}}\nautoscaling: {enabled: true, executions: 6}\n")
	want := []string{"ConfigMap", "Deployment", "Deployment-sandboxd", "HorizontalPodAutoscaler", "HorizontalPodAutoscaler-sandboxd",
		"NetworkPolicy", "NetworkPolicy-sandboxd", "PodDisruptionBudget", "PodDisruptionBudget-sandboxd", "Service", "Service-sandboxd"}
	if got := kinds(all); !slices.Equal(got, want) {
		t.Errorf("objects %q, want %q", got, want)
	}
	pod := all["Deployment-sandboxd"].Spec.Template.Spec
	c := pod.Containers[0]
	s := c.SecurityContext
	if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" || pod.RuntimeClassName != "gvisor" ||
		!s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("security %+v %+v", pod, s)
	}
	if len(c.Env) != 0 || c.Args[0] != "sandboxd" || !slices.Contains(c.Args, "--max-memory=256") {
		t.Errorf("arguments %q, environment %v", c.Args, c.Env)
	}
	if p := all["NetworkPolicy-sandboxd"].Spec; !slices.Equal(p.PolicyTypes, []string{"Ingress", "Egress"}) || len(p.Egress) != 0 {
		t.Errorf("the network policy is %+v", p)
	}
	if all["Service-sandboxd"].Spec.ClusterIP != "None" {
		t.Error("the Service is not headless: brokers could not choose")
	}
	for name, most := range map[string]string{"": "6", "-sandboxd": "8"} {
		m := all["HorizontalPodAutoscaler"+name].Spec.Metrics
		if len(m) != 2 || m[0].Pods.Target.AverageValue != most || m[1].Type != "Resource" {
			t.Errorf("the autoscaler%s has the metrics %+v", name, m)
		}
	}
	var config struct {
		Broker struct {
			State   string
			Sandbox struct {
				MaxExecutions int
				Remote        struct {
					Addresses []string
					Cert      string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(all["ConfigMap"].Data["servers.json"]), &config); err != nil {
		t.Fatal(err)
	}
	if got, want := config.Broker.Sandbox.MaxExecutions, 10*16/6; got != want {
		t.Errorf("each of 6 brokers runs %d scripts in 10 pods of 16 places, want %d", got, want)
	}
	if b := config.Broker; b.State == "" || !slices.Equal(b.Sandbox.Remote.Addresses, []string{"broker-sandboxd.default.svc:9443"}) || b.Sandbox.Remote.Cert != "/etc/broker-sandboxd/tls.crt" {
		t.Errorf("servers.json: %+v", b)
	}
}

// The Compose file names files that are there, and the brokers that nginx expects.
func TestCompose(t *testing.T) {
	text, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct{ Volumes, Command []string }
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
		if s, ok := compose.Services[m[1]]; !ok || !slices.Contains(s.Command, m[1]+":8081") {
			t.Errorf("nginx expects %s, which Compose starts with %q", m[1], s.Command)
		}
	}
}
