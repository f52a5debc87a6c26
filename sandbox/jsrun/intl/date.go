package intl

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // programs name time zones, and a sandbox has no files
)

// A Part is a piece of a formatted date, with its name in formatToParts.
type Part struct{ Kind, Text string }

// Join returns the text of all parts.
func Join(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// A Date formats dates and times: the resolved options of Intl.DateTimeFormat. Options that were
// not given are empty.
type Date struct {
	Locale               *Locale
	Zone                 *time.Location
	ZoneName             string
	DateStyle, TimeStyle string
	Weekday              string
	Year, Month, Day     string
	Hour, Minute, Second string
	Fraction             int // digits of a second
	TimeZoneName         string
	HourCycle            string // h11, h12, h23 or h24
	pattern              string // cached
}

// optionLetters are the letters in the keys of the data.
var optionLetters = map[string]string{"": "-", "numeric": "n", "2-digit": "2", "short": "s", "long": "l", "narrow": "a"}

// Hour12 reports whether hours count to twelve.
func (f *Date) Hour12() bool { return f.HourCycle == "h11" || f.HourCycle == "h12" }

// findPattern combines the patterns of the date, the time and the zone.
func (f *Date) findPattern() string {
	d := &f.Locale.Date
	date, when := f.datePattern(), f.timePattern()
	switch {
	case f.TimeZoneName == "":
	case when != "":
		when = strings.Replace(d.ZoneWithTime, "{0}", when, 1)
	case date != "":
		date = strings.Replace(d.ZoneWithDate, "{1}", date, 1)
	default:
		return "{z}"
	}
	if date == "" || when == "" {
		return date + when
	}
	return strings.NewReplacer("{1}", date, "{0}", when).Replace(f.glue())
}

func (f *Date) glue() string {
	d := &f.Locale.Date
	switch {
	case f.DateStyle != "":
		return d.StyleGlue[f.DateStyle]
	case f.Month == "long" && f.Weekday != "":
		return d.Glue["full"]
	case f.Month == "long":
		return d.Glue["long"]
	case f.Month == "short" || f.Month == "narrow":
		return d.Glue["short"]
	case f.onlyWeekday() && f.TimeZoneName == "":
		return d.Glue["weekday"]
	}
	return d.Glue["numeric"]
}

func (f *Date) onlyWeekday() bool { return f.Weekday != "" && f.Month+f.Year+f.Day == "" }

func (f *Date) datePattern() string {
	if f.DateStyle != "" {
		return f.Locale.Date.DateStyle[f.DateStyle]
	}
	return f.Locale.Date.Date[optionLetters[f.Weekday]+optionLetters[f.Year]+optionLetters[f.Month]+optionLetters[f.Day]]
}

func (f *Date) timePattern() string {
	d := &f.Locale.Date
	var pattern string
	switch {
	case f.TimeStyle != "" && f.Hour12() == d.Hour12:
		pattern = d.TimeStyle[f.TimeStyle]
	case f.TimeStyle != "":
		key := "nnn"
		if f.TimeStyle == "short" {
			key = "nn-"
		}
		pattern = f.cycle(d.Time[key])
		if strings.Contains(d.TimeStyle[f.TimeStyle], "{z}") {
			pattern = strings.Replace(d.ZoneWithTime, "{0}", pattern, 1)
		}
	case f.Hour+f.Minute+f.Second == "" && f.Fraction > 0:
		return "{S}"
	default:
		pattern = f.cycle(d.Time[f.timeKey()])
	}
	if i := strings.Index(pattern, "s}"); f.Fraction > 0 && i >= 0 {
		pattern = pattern[:i+2] + f.Locale.Number.Decimal + "{S}" + pattern[i+2:]
	}
	return pattern
}

// timeKey returns the key of the pattern of the time. Next to a zone, or a weekday without a date,
// other engines format the hour as if other minutes were requested.
func (f *Date) timeKey() string {
	zone := f.TimeZoneName == "short" || f.TimeZoneName == "long"
	switch {
	case !zone && !f.onlyWeekday() || f.Hour != "numeric" || f.Minute == "":
		return optionLetters[f.Hour] + optionLetters[f.Minute] + optionLetters[f.Second]
	case f.Second == "":
		return "nn-"
	case zone:
		return "n22"
	}
	return "nnn"
}

// cycle chooses between the patterns for twelve and for 24 hours.
func (f *Date) cycle(patterns []string) string {
	switch {
	case len(patterns) == 0:
		return ""
	case f.Hour12():
		return patterns[0]
	}
	return patterns[len(patterns)-1]
}

// Parts formats a time.
func (f *Date) Parts(t time.Time) (parts []Part) {
	if f.pattern == "" {
		f.pattern = f.findPattern()
	}
	t = t.In(f.Zone)
	add := func(kind, text string) {
		if n := len(parts); n > 0 && kind == "literal" && parts[n-1].Kind == kind {
			parts[n-1].Text += text
		} else if text != "" {
			parts = append(parts, Part{kind, text})
		}
	}
	for rest := f.pattern; rest != ""; {
		before, field, ok := strings.Cut(rest, "{")
		add("literal", before)
		if !ok {
			break
		}
		field, rest, _ = strings.Cut(field, "}")
		add(f.field(field, t))
	}
	return parts
}

var widths = map[int]string{3: "short", 4: "long", 5: "narrow"}

// field formats one field of a pattern.
func (f *Date) field(name string, t time.Time) (kind, text string) {
	d := &f.Locale.Date
	digits := func(n int) string {
		if len(name) == 2 {
			return fmt.Sprintf("%02d", n)
		}
		return strconv.Itoa(n)
	}
	style := widths[len(name)]
	if name[0] == 'L' || name[0] == 'c' {
		style = "alone-" + style
	}
	switch name[0] {
	case 'y':
		year := t.Year()
		if year <= 0 {
			year = 1 - year
		}
		if len(name) == 2 {
			year %= 100
		}
		return "year", digits(year)
	case 'M', 'L':
		if len(name) < 3 {
			return "month", digits(int(t.Month()))
		}
		return "month", d.Months[style][t.Month()-1]
	case 'E', 'c':
		return "weekday", d.Weekdays[style][t.Weekday()]
	case 'd':
		return "day", digits(t.Day())
	case 'h', 'H':
		return "hour", digits(f.hourOf(t))
	case 'm':
		return "minute", digits(t.Minute())
	case 's':
		return "second", digits(t.Second())
	case 'S':
		return "fractionalSecond", fmt.Sprintf("%03d", t.Nanosecond()/1e6)[:min(max(f.Fraction, 1), 3)]
	case 'a':
		return "dayPeriod", d.Periods[t.Hour()/12]
	case 'z':
		return "timeZoneName", f.zoneText(t)
	}
	return "literal", name
}

func (f *Date) hourOf(t time.Time) int {
	h := t.Hour()
	switch f.HourCycle {
	case "h11":
		return h % 12
	case "h12":
		return (h+11)%12 + 1
	case "h24":
		return (h+23)%24 + 1
	}
	return h
}

// zoneText returns the name of the zone at a time.
func (f *Date) zoneText(t time.Time) string {
	style := f.TimeZoneName
	if f.TimeStyle == "full" {
		style = "long"
	}
	offset := strings.HasSuffix(style, "Offset")
	names := f.Locale.Date.Zones[cmp.Or(tables().ZoneNames[f.ZoneName], f.ZoneName)]
	if names != nil && !offset {
		i := 0
		if style == "long" {
			i = 1
		}
		// In Dublin, standard time is in summer.
		if t.IsDST() != (f.ZoneName == "Europe/Dublin") && len(names) == 4 {
			i += 2
		}
		return names[i]
	}
	gmt, sign := cmp.Or(f.Locale.Date.GMT, "GMT"), "+"
	_, seconds := t.Zone()
	if seconds < 0 {
		sign, seconds = f.Locale.Number.Minus, -seconds
	}
	h, m := seconds/3600, seconds/60%60
	switch {
	case seconds == 0 && !offset:
		return gmt
	case strings.HasPrefix(style, "long"):
		return fmt.Sprintf("%s%s%02d:%02d", gmt, sign, h, m)
	case m != 0:
		return fmt.Sprintf("%s%s%d:%02d", gmt, sign, h, m)
	}
	return fmt.Sprintf("%s%s%d", gmt, sign, h)
}

// Zone returns the time zone with the given name, and its name in other engines.
func Zone(name string) (*time.Location, string, bool) {
	switch upper := strings.ToUpper(name); {
	case upper == "UTC" || upper == "GMT" || upper == "ETC/UTC" || upper == "ETC/GMT":
		return time.UTC, "UTC", true
	case upper == "LOCAL" || name == "" || strings.ContainsAny(name, `.\ `) || name[0] == '/':
		return nil, "", false
	}
	if to, ok := tables().ZoneAliases[name]; ok {
		return Zone(to)
	}
	zone, err := time.LoadLocation(name)
	return zone, name, err == nil
}
