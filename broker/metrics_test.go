package broker_test

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A metricLine is one sample on a page of metrics.
type metricLine struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(?:,|$)`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// readMetrics reads the text format of Prometheus, version 0.0.4: each metric has its
// help and type before its samples, no sample is there twice, and the buckets of a
// histogram are cumulative and end with its count.
func readMetrics(t *testing.T, page string) []metricLine {
	t.Helper()
	var list []metricLine
	helped, typed, seen := map[string]bool{}, map[string]string{}, map[string]bool{}
	if !strings.HasSuffix(page, "\n") {
		t.Error("the last line has no end")
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if fields := strings.SplitN(line, " ", 4); fields[0] == "#" && len(fields) == 4 && fields[1] == "HELP" {
			helped[fields[2]] = true
			continue
		} else if fields[0] == "#" && len(fields) == 4 && fields[1] == "TYPE" && helped[fields[2]] && typed[fields[2]] == "" {
			typed[fields[2]] = fields[3]
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || seen[line[:strings.LastIndexByte(line, ' ')]] {
			t.Fatalf("neither a comment nor a new sample: %q", line)
		}
		seen[line[:strings.LastIndexByte(line, ' ')]] = true
		s := metricLine{name: m[1], labels: map[string]string{}}
		for rest := m[2]; rest != ""; {
			pair := labelPair.FindStringSubmatch(rest)
			if pair == nil {
				t.Fatalf("label %q of %q", rest, line)
			}
			s.labels[pair[1]] = unescape.Replace(pair[2])
			rest = rest[len(pair[0]):]
		}
		var err error
		if s.value, err = strconv.ParseFloat(m[3], 64); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if kind := typed[family(s.name, typed)]; kind != "counter" && kind != "gauge" && kind != "histogram" {
			t.Fatalf("%q has the type %q", line, kind)
		}
		list = append(list, s)
	}
	checkHistograms(t, list)
	return list
}

// family returns the name of the metric that a sample belongs to.
func family(name string, typed map[string]string) string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok && typed[base] == "histogram" {
			return base
		}
	}
	return name
}

func checkHistograms(t *testing.T, list []metricLine) {
	t.Helper()
	var last *metricLine
	for _, s := range list {
		if !strings.HasSuffix(s.name, "_bucket") {
			if last != nil && last.labels["le"] != "+Inf" {
				t.Errorf("the last bucket of %s%v has no bound +Inf", last.name, last.labels)
			}
			last = nil
			continue
		}
		if last != nil && without(last.labels, "le") == without(s.labels, "le") {
			before, _ := strconv.ParseFloat(last.labels["le"], 64)
			bound, err := strconv.ParseFloat(s.labels["le"], 64)
			if err != nil || bound <= before || s.value < last.value {
				t.Errorf("bucket %v = %g after %v = %g", s.labels, s.value, last.labels, last.value)
			}
		}
		last = &s
	}
}

// without returns all labels but one, as a text that can be compared.
func without(labels map[string]string, name string) string {
	rest := maps.Clone(labels)
	delete(rest, name)
	return string(marshal(rest))
}
