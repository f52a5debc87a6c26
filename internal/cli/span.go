package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A Span is the time from one moment until another, exclusive. If both are equal, it is
// a single moment.
type Span struct {
	From, Until time.Time
}

// SpanHelp lists the forms of a span.
const SpanHelp = "today, yesterday, monday, 2026-01-31, \"2026-01-31 14:00\", or how long ago, such as 90m or 7d"

var ErrSpan = errors.New("use " + SpanHelp)

// ParseSpan parses a day, a time of a day, or a duration before now. A weekday is the
// last one before today.
func ParseSpan(text string, now time.Time) (Span, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return Span{now, now}, nil
	case "today":
		return DayOf(midnight), nil
	case "yesterday":
		return DayOf(midnight.AddDate(0, 0, -1)), nil
	}
	for back := 1; back <= 7; back++ {
		day := midnight.AddDate(0, 0, -back)
		if name := strings.ToLower(day.Weekday().String()); text == name || text == name[:3] {
			return DayOf(day), nil
		}
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return DayOf(day), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02t15:04", "2006-01-02t15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return Span{at, at}, nil
		}
	}
	if at, err := time.Parse(time.RFC3339, strings.ToUpper(text)); err == nil {
		return Span{at, at}, nil
	}
	d, err := ParseTime(text)
	if err != nil {
		return Span{}, ErrSpan
	}
	return Span{now.Add(-d), now.Add(-d)}, nil
}

// DayOf returns the day that begins at midnight; it may have 23 or 25 hours.
func DayOf(midnight time.Time) Span {
	return Span{midnight, midnight.AddDate(0, 0, 1)}
}

// A momentFlag is the value of a flag that takes a day or a moment.
type momentFlag struct {
	text string
	to   *time.Time
	last bool // a day means its end
}

// SinceVar adds the flag --since to a command. what names the records that it selects.
func SinceVar(flags *pflag.FlagSet, to *time.Time, what string) {
	flags.Var(&momentFlag{to: to}, "since", "only "+what+" since then: "+SpanHelp)
}

// UntilVar adds the flag --until. A day means its end.
func UntilVar(flags *pflag.FlagSet, to *time.Time, what string) {
	flags.Var(&momentFlag{to: to, last: true}, "until", "only "+what+" until then; a day counts until its end")
}

// Set implements pflag.Value.
func (m *momentFlag) Set(text string) error {
	s, err := ParseSpan(text, time.Now())
	if err != nil {
		return err
	}
	m.text, *m.to = text, s.From
	if m.last {
		*m.to = s.Until
	}
	return nil
}

// String implements pflag.Value.
func (m *momentFlag) String() string { return m.text }

// Type implements pflag.Value.
func (m *momentFlag) Type() string { return "moment" }
