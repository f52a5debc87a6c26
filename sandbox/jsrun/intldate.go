package jsrun

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // programs name time zones, and a sandbox has no files
)

// A dateFormat is an Intl.DateTimeFormat: its options, resolved. Empty options
// are those that were not asked for.
type dateFormat struct {
	data                 *localeData
	locale               string
	zone                 *time.Location
	zoneName             string
	dateStyle, timeStyle string
	weekday              string
	year, month, day     string
	hour, minute, second string
	fraction             int // digits of a second
	timeZoneName         string
	hourCycle            string // h11, h12, h23 or h24
	pattern              string // found once
}

// optionLetters are the letters of the keys in the data.
var optionLetters = map[string]string{"": "-", "numeric": "n", "2-digit": "2", "short": "s", "long": "l", "narrow": "a"}

func (f *dateFormat) hour12() bool { return f.hourCycle == "h11" || f.hourCycle == "h12" }

// findPattern puts the patterns of the date, the time and the zone together.
func (f *dateFormat) findPattern() string {
	d := &f.data.Date
	date, when := f.datePattern(), f.timePattern()
	zone := "{z}"
	if f.timeZoneName == "" {
		zone = ""
	}
	if f.timeStyle == "full" || f.timeStyle == "long" {
		zone = "" // the style has it
	}
	switch {
	case zone == "":
	case when != "":
		when = strings.Replace(d.ZoneWithTime, "{0}", when, 1)
	case date != "":
		date = strings.Replace(d.ZoneWithDate, "{1}", date, 1)
	default:
		return zone
	}
	if date == "" || when == "" {
		return date + when
	}
	return strings.NewReplacer("{1}", date, "{0}", when).Replace(f.glue())
}

func (f *dateFormat) glue() string {
	d := &f.data.Date
	switch {
	case f.dateStyle != "":
		return d.StyleGlue[f.dateStyle]
	case f.month == "long" && f.weekday != "":
		return d.Glue["full"]
	case f.month == "long":
		return d.Glue["long"]
	case f.month == "short" || f.month == "narrow":
		return d.Glue["short"]
	case f.onlyWeekday() && f.timeZoneName == "":
		return d.Glue["weekday"]
	}
	return d.Glue["numeric"]
}

func (f *dateFormat) onlyWeekday() bool {
	return f.weekday != "" && f.month == "" && f.year == "" && f.day == ""
}

func (f *dateFormat) datePattern() string {
	d := &f.data.Date
	if f.dateStyle != "" {
		return d.DateStyle[f.dateStyle]
	}
	key := optionLetters[f.weekday] + optionLetters[f.year] + optionLetters[f.month] + optionLetters[f.day]
	return d.Date[key]
}

func (f *dateFormat) timePattern() string {
	d := &f.data.Date
	var pattern string
	switch {
	case f.timeStyle != "":
		pattern = d.TimeStyle[f.timeStyle]
		if f.hour12() != d.Hour12 {
			key := "nnn"
			if f.timeStyle == "short" {
				key = "nn-"
			}
			zoned := strings.Contains(pattern, "{z}")
			pattern = f.cycle(d.Time[key])
			if zoned {
				pattern = strings.Replace(d.ZoneWithTime, "{0}", pattern, 1)
			}
		}
	default:
		key := f.timeKey()
		if f.hour == "" && f.minute == "" && f.second == "" && f.fraction > 0 {
			return "{S}"
		}
		pattern = f.cycle(d.Time[key])
	}
	if f.fraction > 0 {
		for _, second := range []string{"{ss}", "{s}"} {
			if strings.Contains(pattern, second) {
				return strings.Replace(pattern, second, second+f.data.Number.Decimal+"{S}", 1)
			}
		}
	}
	return pattern
}

// timeKey is the key of the pattern of the time. Beside a zone, or a weekday without a
// date, other engines write the hour as if minutes had been asked for in another way.
func (f *dateFormat) timeKey() string {
	key := optionLetters[f.hour] + optionLetters[f.minute] + optionLetters[f.second]
	switch {
	case !f.namesZone() && !f.onlyWeekday() || f.hour != "numeric" || f.minute == "":
	case f.second == "":
		return "nn-"
	case f.namesZone():
		return "n22"
	default:
		return "nnn"
	}
	return key
}

func (f *dateFormat) namesZone() bool { return f.timeZoneName == "short" || f.timeZoneName == "long" }

// cycle chooses between the pattern of twelve hours and that of 24.
func (f *dateFormat) cycle(patterns []string) string {
	switch {
	case len(patterns) == 0:
		return ""
	case f.hour12() || len(patterns) == 1:
		return patterns[0]
	}
	return patterns[1]
}

// parts formats a time.
func (f *dateFormat) parts(t time.Time) []part {
	if f.pattern == "" {
		f.pattern = f.findPattern()
	}
	t = t.In(f.zone)
	return merge(fill(f.pattern, func(name string) []part {
		kind, text := f.field(name, t)
		if text == "" {
			return nil
		}
		return []part{{kind, text}}
	}, "literal"))
}

// merge joins texts between that follow each other.
func merge(parts []part) []part {
	var out []part
	for _, p := range parts {
		if n := len(out); n > 0 && p.kind == "literal" && out[n-1].kind == "literal" {
			out[n-1].text += p.text
			continue
		}
		out = append(out, p)
	}
	return out
}

var widths = map[int]string{3: "short", 4: "long", 5: "narrow"}

// field is one field of a pattern.
func (f *dateFormat) field(name string, t time.Time) (kind, text string) {
	d := &f.data.Date
	digits := func(n int) string {
		if len(name) == 2 {
			return fmt.Sprintf("%02d", n)
		}
		return strconv.Itoa(n)
	}
	switch name[0] {
	case 'y':
		year := t.Year()
		if year <= 0 {
			year = 1 - year
		}
		if len(name) == 2 {
			return "year", fmt.Sprintf("%02d", year%100)
		}
		return "year", strconv.Itoa(year)
	case 'M', 'L':
		if len(name) < 3 {
			return "month", digits(int(t.Month()))
		}
		style := widths[len(name)]
		if name[0] == 'L' {
			style = "alone-" + style
		}
		return "month", d.Months[style][t.Month()-1]
	case 'E', 'c':
		style := widths[len(name)]
		if name[0] == 'c' {
			style = "alone-" + style
		}
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
		return "fractionalSecond", fmt.Sprintf("%03d", t.Nanosecond()/1e6)[:min(max(f.fraction, 1), 3)]
	case 'a':
		return "dayPeriod", d.Periods[t.Hour()/12]
	case 'z':
		return "timeZoneName", f.zoneText(t)
	}
	return "literal", name
}

func (f *dateFormat) hourOf(t time.Time) int {
	h := t.Hour()
	switch f.hourCycle {
	case "h11":
		return h % 12
	case "h12":
		return (h+11)%12 + 1
	case "h24":
		return (h+23)%24 + 1
	}
	return h
}

// zoneAliases are older names of time zones that people still write, with those
// that other engines give instead of them.
var zoneAliases = map[string]string{
	"US/Eastern": "America/New_York", "EST5EDT": "America/New_York", "US/Michigan": "America/Detroit", "EST": "America/Panama",
	"US/Central": "America/Chicago", "CST6CDT": "America/Chicago", "US/Mountain": "America/Denver", "MST7MDT": "America/Denver",
	"US/Arizona": "America/Phoenix", "MST": "America/Phoenix", "US/Pacific": "America/Los_Angeles", "PST8PDT": "America/Los_Angeles",
	"US/Alaska": "America/Anchorage", "US/Hawaii": "Pacific/Honolulu", "HST": "Pacific/Honolulu",
	"Canada/Eastern": "America/Toronto", "Canada/Central": "America/Winnipeg", "Canada/Mountain": "America/Edmonton", "Canada/Pacific": "America/Vancouver",
	"GB": "Europe/London", "Eire": "Europe/Dublin", "WET": "Europe/Lisbon", "CET": "Europe/Brussels", "MET": "Europe/Brussels", "EET": "Europe/Athens",
	"Poland": "Europe/Warsaw", "Portugal": "Europe/Lisbon", "Turkey": "Europe/Istanbul", "Japan": "Asia/Tokyo", "PRC": "Asia/Shanghai",
	"ROK": "Asia/Seoul", "Singapore": "Asia/Singapore", "Hongkong": "Asia/Hong_Kong", "NZ": "Pacific/Auckland",
	"Zulu": "UTC", "UCT": "UTC", "Universal": "UTC", "Etc/Zulu": "UTC", "Etc/Universal": "UTC", "Greenwich": "UTC",
}

// zoneNamesOf are zones whose times have the names of another one's.
var zoneNamesOf = map[string]string{
	"America/Panama": "America/New_York", "America/Detroit": "America/New_York", "America/Indianapolis": "America/New_York",
	"America/Winnipeg": "America/Chicago", "America/Edmonton": "America/Denver",
	"America/Vancouver": "America/Los_Angeles", "America/Tijuana": "America/Los_Angeles",
	"Europe/Brussels": "Europe/Paris",
}

// zoneText is the name of the zone at a time.
func (f *dateFormat) zoneText(t time.Time) string {
	style := f.timeZoneName
	if style == "" {
		style = map[string]string{"full": "long"}[f.timeStyle]
	}
	_, offset := t.Zone()
	if names := f.data.Date.Zones[cmp.Or(zoneNamesOf[f.zoneName], f.zoneName)]; names != nil && !strings.HasSuffix(style, "Offset") {
		i := 0
		if style == "long" {
			i = 1
		}
		// Dublin's standard time is that of the summer.
		if t.IsDST() != (f.zoneName == "Europe/Dublin") && len(names) == 4 {
			i += 2
		}
		return names[i]
	}
	gmt := f.data.Date.GMT
	if gmt == "" {
		gmt = "GMT"
	}
	sign := "+"
	if offset < 0 {
		sign, offset = f.data.Number.Minus, -offset
	}
	h, m := offset/3600, offset/60%60
	switch {
	case offset == 0 && !strings.HasSuffix(style, "Offset"):
		return gmt
	case strings.HasPrefix(style, "long"):
		return fmt.Sprintf("%s%s%02d:%02d", gmt, sign, h, m)
	case m != 0:
		return fmt.Sprintf("%s%s%d:%02d", gmt, sign, h, m)
	}
	return fmt.Sprintf("%s%s%d", gmt, sign, h)
}

// findZone returns the zone with a name.
func findZone(name string) (*time.Location, string, bool) {
	switch upper := strings.ToUpper(name); {
	case upper == "UTC" || upper == "GMT" || upper == "ETC/UTC" || upper == "ETC/GMT":
		return time.UTC, "UTC", true
	case upper == "LOCAL" || name == "" || strings.ContainsAny(name, `.\ `) || name[0] == '/':
		return nil, "", false
	}
	if to, ok := zoneAliases[name]; ok {
		return findZone(to)
	}
	zone, err := time.LoadLocation(name)
	return zone, name, err == nil
}
