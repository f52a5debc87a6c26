package intl

import "testing"

func TestRounding(t *testing.T) {
	for _, tt := range []struct {
		value  float64
		places int
		want   string
	}{
		{1.005, 2, "1.01"}, {2.5, 0, "3"}, {0.045, 2, "0.05"}, {1234, -2, "1200"}, {9.99, 1, "10"}, {1e-7, 3, "0"}, {49, -2, "0"}, {1e21, 0, "1000000000000000000000"},
	} {
		got, fraction := Float(tt.value).round(tt.places)
		if fraction != "" {
			got += "." + fraction
		}
		if got != tt.want {
			t.Errorf("%v to %d places is %s, want %s", tt.value, tt.places, got, tt.want)
		}
	}
}
