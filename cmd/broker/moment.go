package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A span is the time from one moment until another, exclusive. If both are equal, it is
// a single moment.
type span struct {
	from, until time.Time
}

// momentHelp lists the forms of a span.
const momentHelp = "today, yesterday, monday, 2026-01-31, \"2026-01-31 14:00\", or how long ago, such as 90m or 7d"

var errMoment = errors.New("use " + momentHelp)

// parseSpan parses a day, a time of a day, or a duration before now. A weekday is the
// last one before today.
func parseSpan(text string, now time.Time) (span, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return span{now, now}, nil
	case "today":
		return dayOf(midnight), nil
	case "yesterday":
		return dayOf(midnight.AddDate(0, 0, -1)), nil
	}
	for back := 1; back <= 7; back++ {
		day := midnight.AddDate(0, 0, -back)
		if name := strings.ToLower(day.Weekday().String()); text == name || text == name[:3] {
			return dayOf(day), nil
		}
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return dayOf(day), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02t15:04", "2006-01-02t15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return span{at, at}, nil
		}
	}
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err == nil {
		return span{at, at}, nil
	}
	d, err := parseTime(text)
	if err != nil {
		return span{}, errMoment
	}
	return span{now.Add(-d), now.Add(-d)}, nil
}

// dayOf returns the day that begins at midnight; it may have 23 or 25 hours.
func dayOf(midnight time.Time) span {
	return span{midnight, midnight.AddDate(0, 0, 1)}
}

// A momentFlag is the value of a flag that takes a day or a moment.
type momentFlag struct {
	text string
	to   *time.Time
	last bool // a day means its end
}

// sinceVar adds the flag --since to a command. what names the records that it selects.
func sinceVar(flags *pflag.FlagSet, to *time.Time, what string) {
	flags.Var(&momentFlag{to: to}, "since", "only "+what+" since then: "+momentHelp)
}

// untilVar adds the flag --until. A day means its end.
func untilVar(flags *pflag.FlagSet, to *time.Time, what string) {
	flags.Var(&momentFlag{to: to, last: true}, "until", "only "+what+" until then; a day counts until its end")
}

// Set implements pflag.Value.
func (m *momentFlag) Set(text string) error {
	s, err := parseSpan(text, time.Now())
	if err != nil {
		return err
	}
	m.text, *m.to = text, s.from
	if m.last {
		*m.to = s.until
	}
	return nil
}

// String implements pflag.Value.
func (m *momentFlag) String() string { return m.text }

// Type implements pflag.Value.
func (m *momentFlag) Type() string { return "moment" }
