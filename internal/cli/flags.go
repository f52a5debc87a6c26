package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// goodValues say what the flags of each type take.
var goodValues = map[string]string{
	"bool":        "true or false",
	"int":         "a whole number such as 10",
	"int64":       "a whole number such as 10",
	"float64":     "seconds, such as 30 or 2.5",
	"time":        "a time above 0, such as 90s, 15m, 720h or 7d",
	"moment":      SpanHelp,
	"duration":    "a time, such as 90s or 15m, or 0",
	"intSlice":    "whole numbers with commas between them, such as 2,3",
	"stringSlice": "names with commas between them",
}

// FlagError says what is wrong with the value of a flag, and what a good one is.
func FlagError(err error) error {
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("--%s is %q: use %s", bad.GetFlag().Name, bad.GetValue(), goodValues[bad.GetFlag().Value.Type()])
}

// A timeFlag is the value of a flag that takes a time above 0.
type timeFlag time.Duration

// TimeVar gives a command a flag that takes a time.
func TimeVar(flags *pflag.FlagSet, to *time.Duration, name, help string) {
	flags.Var((*timeFlag)(to), name, help)
}

// Set implements pflag.Value.
func (t *timeFlag) Set(text string) error {
	d, err := ParseTime(text)
	*t = timeFlag(d)
	return err
}

// ParseTime parses a positive duration such as 90s, 720h or 7d.
func ParseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		if d = time.Duration(n) * 24 * time.Hour; err == nil && n > 36500 {
			err = errors.New("it is more than a hundred years")
		}
	}
	if err == nil && d <= 0 {
		err = errors.New("it is not above 0")
	}
	return d, err
}

// String implements pflag.Value.
func (t *timeFlag) String() string {
	if *t == 0 {
		return ""
	}
	return time.Duration(*t).String()
}

// Type implements pflag.Value.
func (t *timeFlag) Type() string { return "time" }
