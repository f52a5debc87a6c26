package bridge

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lazyregexp"
	"github.com/mcpbroker/mcpbroker/policy"
)

// MCP has no code for a rate limit. Servers pass on the text of the service behind them
// as the error of a tool, so this file reads the beginning of that text; no other code
// does.
const maxLimitText = 4 << 10

var (
	// rateLimit matches texts about a call that was refused because of a rate limit.
	rateLimit = lazyregexp.New(`(?i)too many requests|\brate[ _-]?limited\b|\bratelimited\b|\brate[ _-]?limit(?:s|ing)?[ _-](?:exceeded|error|reached|hit|was|has been|is exceeded)|` +
		`\b(?:exceed(?:s|ed|ing)?|hit|reached|over|secondary|due to)\W{0,3}(?:\w+[ '’]+){0,4}rate[ _-]?limit|\brate[ _-]?limit\w*\b[^\n]{0,60}\b(?:retry|try again|wait)\b|` +
		`\b(?:ThrottlingException|RequestLimitExceeded|ThrottledException|TooManyRequestsException|RESOURCE_EXHAUSTED)\b|\brequest(?:s)? (?:was|were|is|are|has been) (?:being )?throttled\b|` +
		`\b(?:quota|limit)\b[^\n]{0,80}\b(?:exceeded|reached|used up)\b[^\n]{0,200}\b(?:retry|try(?: it)? again)\b[^\n]{0,20}\b(?:in|after)\b|` +
		`\bexceeded\b[^\n]{0,60}\b(?:quota|limit)\b[^\n]{0,200}\b(?:retry|try(?: it)? again)\b[^\n]{0,20}\b(?:in|after)\b|\btoo many (?:\w+ )?(?:calls|queries)\b|` +
		`\b(?:http|status|code|error)\b["']?\s*(?:code)?["']?\s*[:=]?\s*\(?429\b`)
	// retryAfter matches a waiting time and its unit.
	retryAfter = lazyregexp.New(`(?i)\b(?:retry|try)[ _-]?(?:again[ _-]?)?(?:after|in|delay)(?:[ _-]?(ms|millis(?:econds)?|seconds|secs?|s|minutes))?\b["']?\s*[:=]?\s*["']?(?:for |in |after )?(\d+(?:\.\d+)?)\s*([a-z]+)?(?:\s*(\d+)\s*(s|sec|secs|seconds)\b)?`)
	waitFor    = lazyregexp.New(`(?i)\b(?:wait|again|available|resets?|retry|retried|sleep)\b[^\n\d]{0,40}?\b(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)\b`)
	retryKey   = lazyregexp.New(`(?i)["']?retry[_-]?after[_-]?(ms|millis)?["']?\s*[:=]\s*["']?(\w{3}, [^"'\n]{10,40}GMT)`)
)

const (
	// maxRetryAfter bounds the waiting time in an error.
	maxRetryAfter = 24 * time.Hour
	// maxOwnWait bounds the time that the bridge itself waits before it repeats a
	// read-only call.
	maxOwnWait = 10 * time.Second
	// leastLeft is the time that an execution must have left after such a wait.
	leastLeft = time.Second
)

// NoteRateLimit changes the code of an error that a server reported to CodeRateLimited
// if its text is about a rate limit. data is the data of the error.
func (e *Error) NoteRateLimit(data json.RawMessage) {
	text := e.Message[:min(len(e.Message), maxLimitText)]
	if !rateLimit.MatchString(text) {
		return
	}
	wait := waitIn(text)
	if wait == 0 {
		wait = waitIn(string(data[:min(len(data), maxLimitText)]))
	}
	e.RateLimited(wait)
	e.FromText = true
}

// limitWrite makes e not retryable if the call may change something and only a text
// reports the rate limit: the limit may have stopped the last of several steps.
func (e *Error) limitWrite(class policy.Class) {
	if e.FromText && class != policy.Read {
		e.Retryable = false
		e.Hint = "part of it may have been done: wait, and check before you call it again"
	}
}

// RateLimited makes e the error of a call that was refused because of a rate limit.
// wait is the time that the server asks for, or 0.
func (e *Error) RateLimited(wait time.Duration) {
	e.Code, e.Retryable, e.MayHaveRun = CodeRateLimited, true, false
	e.RetryAfterMS = wait.Milliseconds()
	if e.Hint == "" {
		e.Hint = "await retry(() => …) waits and calls again; make fewer calls at the same time"
	}
}

// waitIn returns the waiting time in a text, or 0.
func waitIn(text string) time.Duration {
	if m := retryKey.FindStringSubmatch(text); m != nil {
		if at, err := http.ParseTime(m[2]); err == nil {
			return bounded(time.Until(at).Seconds(), time.Second)
		}
	}
	if m := retryAfter.FindStringSubmatch(text); m != nil {
		unit := m[3]
		if unitOf(unit) == 0 {
			unit = m[1]
		}
		wait := boundedText(m[2], unit)
		if m[4] != "" && unitOf(m[3]) >= time.Minute { // 2m30s
			wait += boundedText(m[4], "s")
		}
		return wait
	}
	if m := waitFor.FindStringSubmatch(text); m != nil {
		return boundedText(m[1], m[2])
	}
	return 0
}

// boundedText parses a number of units, or of seconds without a unit, up to
// maxRetryAfter.
func boundedText(number, unit string) time.Duration {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	each := unitOf(unit)
	if each == 0 {
		each = time.Second
	}
	if each == time.Second && n > 1e9 { // a Unix time
		n -= float64(time.Now().Unix())
	}
	return bounded(n, each)
}

func bounded(n float64, each time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(math.Min(n*float64(each), float64(maxRetryAfter)))
}

// unitOf returns the duration of a unit of time, or 0.
func unitOf(unit string) time.Duration {
	switch unit = strings.ToLower(unit); {
	case unit == "":
		return 0
	case unit == "ms" || strings.HasPrefix(unit, "milli"):
		return time.Millisecond
	case unit == "s" || strings.HasPrefix(unit, "sec"):
		return time.Second
	case unit == "m" || strings.HasPrefix(unit, "min"):
		return time.Minute
	case unit == "h" || strings.HasPrefix(unit, "hour"):
		return time.Hour
	}
	return 0
}

// waitsToRetry waits as long as the server asks, and reports whether the call may be
// repeated: it must be read-only and have time left.
func waitsToRetry(ctx context.Context, class policy.Class, e *Error) bool {
	wait := time.Duration(e.RetryAfterMS) * time.Millisecond
	if e.Code != CodeRateLimited || class != policy.Read || wait <= 0 || wait > maxOwnWait {
		return false
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait+leastLeft {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
