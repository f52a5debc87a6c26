package evaluate

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	queries, err := Read(strings.NewReader(`{"set":"a","query":"first","relevant":["s/x"]}

{"set":"a","query":"third","relevant":["s/y","s/x"]}
{"query":"twelfth","relevant":["s/x"]}
{"query":"never","relevant":["s/nothing"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{"first": 0, "third": 2, "twelfth": 11, "never": 14}
	r, err := Run(t.Context(), queries, func(_ context.Context, text string) (Answer, error) {
		found := strings.Split(strings.Repeat("s/o ", 14)+"s/o", " ")
		if text != "never" {
			found[place[text]] = "s/x"
		}
		return Answer{Found: found, Tokens: 100 + len(text), Took: time.Duration(len(text)) * time.Millisecond}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sets) != 2 || r.Sets[0].Set != "a" || r.Sets[1].Set != "queries" {
		t.Fatalf("sets %+v, want a and queries", r.Sets)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"hit@1 of all", r.All.Hit1, 1. / 4},
		{"hit@5 of all", r.All.Hit5, 2. / 4},
		{"hit@10 of all", r.All.Hit10, 2. / 4},
		{"hit@15 of all", r.All.Hit15, 3. / 4},
		{"MRR of all", r.All.MRR, (1 + 1./3) / 4},
		{"nDCG of all", r.All.NDCG, (1 + 1./2) / 4},
		{"MRR of a", r.Sets[0].MRR, (1 + 1./3) / 2},
		{"hit@5 of the sets", r.Macro.Hit5, .5},
		{"tokens", float64(r.All.Tokens), 105},
		{"p50", r.All.P50, 5},
		{"p99", r.All.P99, 7},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s = %v, want %v", c.what, c.got, c.want)
		}
	}
	if len(r.Misses) != 2 || r.Misses[0].Rank != 12 || r.Misses[1].Rank != 0 || len(r.Misses[0].Found) != 5 {
		t.Errorf("misses %+v, want the twelfth at 12 and the one that is not found", r.Misses)
	}
}

func TestBadQueries(t *testing.T) {
	for in, want := range map[string]string{
		`{"query":"a","relevant":["s/x"]}` + "\n{": "line 2",
		`{"relevant":["s/x"]}`:                     `no "query"`,
		`{"query":"a"}`:                            `no "relevant"`,
		strings.Repeat("x", maxLine+1):             "longer than",
	} {
		if _, err := Read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestAFailedSearchEndsTheRun(t *testing.T) {
	broken := errors.New("broken")
	_, err := Run(t.Context(), []Query{{Text: "a"}}, func(context.Context, string) (Answer, error) { return Answer{}, broken })
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want the search's", err)
	}
}
