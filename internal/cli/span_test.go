package cli

import (
	"testing"
	"time"
)

func TestSpans(t *testing.T) {
	zone := time.FixedZone("here", 2*3600)
	now := time.Date(2026, 3, 4, 15, 30, 0, 0, zone) // a Wednesday
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, zone) }
	for text, want := range map[string]Span{
		"today":                {at(4, 0), at(5, 0)},
		" Yesterday ":          {at(3, 0), at(4, 0)},
		"tuesday":              {at(3, 0), at(4, 0)},
		"Wed":                  {time.Date(2026, 2, 25, 0, 0, 0, 0, zone), time.Date(2026, 2, 26, 0, 0, 0, 0, zone)},
		"2026-03-01":           {at(1, 0), at(2, 0)},
		"2026-03-01 14:00":     {at(1, 14), at(1, 14)},
		"2026-03-01T14:00":     {at(1, 14), at(1, 14)},
		"2026-03-01T12:00:00Z": {at(1, 14), at(1, 14)},
		"24h":                  {now.Add(-24 * time.Hour), now.Add(-24 * time.Hour)},
		"7d":                   {now.Add(-7 * 24 * time.Hour), now.Add(-7 * 24 * time.Hour)},
		"now":                  {now, now},
	} {
		if got, err := ParseSpan(text, now); err != nil || !got.From.Equal(want.From) || !got.Until.Equal(want.Until) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "2026-02-30", "-3h", "0s", "last week", "14:00", "2026"} {
		if got, err := ParseSpan(text, now); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

// A day has as many hours as its time zone gives it.
func TestDaysWhenClocksChange(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	for day, hours := range map[string]float64{"2026-03-29": 23, "2026-10-25": 25, "2026-07-01": 24} {
		s, err := ParseSpan(day, time.Date(2026, 12, 1, 0, 0, 0, 0, berlin))
		if err != nil || s.Until.Sub(s.From).Hours() != hours {
			t.Errorf("%s: %v, %v, want %v hours", day, s.Until.Sub(s.From), err, hours)
		}
	}
}
