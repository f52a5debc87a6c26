package policy

import "github.com/mcpbroker/mcpbroker/discovery"

// A Class is the possible effect of a tool's calls. A larger class is worse.
type Class uint8

// The classes of tools.
const (
	Read        Class = iota + 1 // changes nothing
	Unknown                      // neither the server nor the name says
	Write                        // changes something
	Destructive                  // deletes or overwrites something
)

// String returns the class as configurations and records spell it.
func (c Class) String() string {
	return [...]string{"", "read", "unknown", "write", "destructive"}[c]
}

// A basis is the source of the class of a tool.
type basis uint8

const (
	byName     basis = iota + 1 // the name, since nothing else is known
	byReadOnly                  // an explicit readOnlyHint
	byHint                      // "destructiveHint": true alone
	byReading                   // the name and the schema, against "destructiveHint": true
	byReview                    // the broker's table of published servers
)

// ClassOf derives the class of a tool from the broker's review of it as a published
// tool, if any, or else from the server's annotations and the strongest verb of the
// tool's name. The worse of the last two counts, with two exceptions. A tool with
// readOnlyHint is Read unless its name says that it deletes, since the names of many
// such tools have other verbs, such as "generate_bar_chart". A tool with a name and
// parameters that only read is not Destructive because of its server's hint, since
// several SDKs set the hint on every tool by default.
func ClassOf(t *discovery.Tool) Class {
	class, _ := classify(t)
	return class
}

func classify(t *discovery.Tool) (Class, basis) {
	if class := reviewed(t); class != 0 {
		return class, byReview
	}
	named := classOfName(t.OwnName())
	a := t.Annotations
	marked := a.Destructive != nil && *a.Destructive
	switch {
	case named == Destructive:
		return Destructive, byName
	case marked && !(named == Read && onlyReads(t)):
		return Destructive, byHint
	case marked && (a.ReadOnly == nil || *a.ReadOnly):
		return Read, byReading
	case a.ReadOnly == nil:
		return named, byName
	case *a.ReadOnly:
		return Read, byReadOnly
	}
	return Write, byReadOnly // despite its name, the server says so
}

// reviewed returns the class of a published tool, or 0.
func reviewed(t *discovery.Tool) Class {
	if t.Review == nil {
		return 0
	}
	for c := Read; c <= Destructive; c++ {
		if c.String() == t.Review.Class {
			return c
		}
	}
	return 0
}

// trustedClass returns the class of a tool of a server with trusted annotations: they
// take precedence over its name and its review.
func trustedClass(t *discovery.Tool) (Class, basis) {
	a := t.Annotations
	switch {
	case a.Destructive != nil && *a.Destructive:
		return Destructive, byHint
	case a.ReadOnly != nil && *a.ReadOnly:
		return Read, byReadOnly
	}
	class, why := classify(t)
	if a.Destructive != nil { // "destructiveHint": false means that it only adds
		class = min(class, Write)
	}
	return class, why
}

// A verb is a word in names of tools that describes their effect.
type verb struct {
	class Class
	// noun is set for words that are as often nouns: behind another verb they are ignored,
	// as "merge" in "get_merge_request", unless "and" joins the two.
	noun bool
}

// verbs maps verbs in lower case.
var verbs = verbTable()

func verbTable() map[string]verb {
	table := make(map[string]verb)
	add := func(c Class, noun bool, words ...string) {
		for _, w := range words {
			table[w] = verb{c, noun}
		}
	}
	add(Read, false, "get", "list", "read", "search", "find", "fetch", "describe", "retrieve", "lookup", "browse",
		"check", "validate", "verify", "inspect", "explain", "analyze", "analyse", "compare", "calculate", "count",
		"convert", "parse", "lint", "ping", "geocode", "identify", "suggest", "recommend", "summarize", "translate",
		"transcribe", "view", "show", "whoami", "is", "has", "think")
	add(Read, true, "query", "diff", "status", "info", "preview", "history", "help", "extract", "aggregate", "echo",
		"tail", "logs")
	add(Unknown, false, "execute", "exec", "eval", "evaluate", "sql", "invoke", "resolve", "generate",
		"simulate")
	add(Unknown, true, "run", "command", "script", "shell", "call", "request", "download")
	add(Write, false, "create", "add", "update", "edit", "modify", "write", "insert", "upsert", "append", "prepend",
		"save", "send", "publish", "upload", "import", "push", "put", "set", "unset", "enable", "disable", "assign",
		"unassign", "attach", "detach", "connect", "disconnect", "subscribe", "unsubscribe", "invite", "accept",
		"reject", "decline", "approve", "unapprove", "submit", "rename", "move", "apply", "install", "upgrade", "deploy",
		"rollback", "restart", "start", "stop", "pause", "resume", "suspend", "trigger", "toggle", "increment",
		"register", "mark", "unmark", "lock", "unlock", "close", "reopen", "sync", "restore", "reply", "respond",
		"notify", "reschedule", "cancel", "dismiss", "snooze", "pay", "charge", "refund", "withdraw", "buy", "sell",
		"click", "type", "press", "fill", "hover", "drag", "navigate", "grant", "authorize", "reauthorize", "unpin",
		"protect", "unprotect", "follow", "unfollow", "block", "unblock", "mute", "unmute", "ban", "make", "build",
		"finalize", "login", "logout", "authenticate", "migrate", "replace", "scale", "mkdir", "chmod", "configure",
		"manage", "interact", "unmerge", "deactivate", "abort", "halt", "reboot", "revert", "demote")
	add(Write, true, "post", "comment", "commit", "merge", "fork", "star", "pin", "archive", "unarchive", "copy",
		"clone", "release", "label", "tag", "review", "draft", "message", "link", "share", "note", "log", "vote", "like",
		"react", "record", "store", "crawl", "order", "dispatch", "override", "forward", "schedule", "book", "open",
		"patch", "format", "sort")
	add(Destructive, false, "delete", "remove", "destroy", "purge", "erase", "wipe", "truncate", "uninstall", "kill",
		"terminate", "revoke", "prune", "cleanup", "clear", "overwrite", "rm", "rmdir", "unlink", "discard",
		"deprovision", "del", "hdel", "xdel", "srem", "zrem", "nuke", "shred", "expunge", "flushall", "flushdb", "evict",
		"obliterate", "annihilate", "eradicate", "exterminate", "demolish", "teardown", "shutdown", "poweroff", "decommission",
		"deregister", "unregister", "deallocate", "delist", "dispose", "invalidate", "zap", "unshare", "recreate", "disband")
	add(Destructive, true, "drop", "reset", "trash", "transfer", "empty", "expire", "burn", "void", "flush")
	return table
}

// storage are words for things that lose their content when they are formatted.
var storage = map[string]bool{
	"disk": true, "disks": true, "drive": true, "drives": true, "volume": true, "volumes": true, "partition": true, "partitions": true, "device": true,
	"devices": true, "filesystem": true, "usb": true, "sdcard": true, "hdd": true, "ssd": true, "nvme": true, "lun": true,
}

// A phrase is the state of reading the words of a name, for words that have a meaning only
// together. The zero value is the beginning of a name.
type phrase struct {
	write, forced, shut, power bool // about the previous word
	format                     bool // an earlier word is "format"
}

// next adds a lower-case word with verb v. It reports whether the word, together with earlier
// ones, destroys something: "force" beside a verb that writes, a storage that is formatted, or
// something that is shut or torn down.
func (p *phrase) next(w []byte, v verb) bool {
	if *p == (phrase{}) && w[0] != 'f' && w[0] != 'r' && w[0] != 's' && w[0] != 't' && w[0] != 'p' { // the common case
		p.write = v.class == Write
		return false
	}
	now := phrase{write: v.class == Write, format: p.format}
	destroys := now.write && p.forced
	switch string(w) {
	case "force", "forced", "forcibly":
		now.forced = true
		destroys = p.write
	case "format", "reformat":
		now.format = true
	case "shut", "tear":
		now.shut = true
	case "power":
		now.power = true
	case "down":
		destroys = p.shut
	case "off":
		destroys = p.power
	default:
		destroys = destroys || p.format && storage[string(w)]
	}
	*p = now
	return destroys
}

// classOfName returns the class of the strongest verb of a name, or Unknown for a name without a
// verb.
func classOfName(name string) Class {
	class, _ := strongestVerb(name)
	return class
}

// strongestVerb returns the strongest verb of a name, in any style, and its class.
func strongestVerb(name string) (class Class, strongest string) {
	joined := false // the previous word joins two verbs
	var before phrase
	for word, rest := nextWord(name); word != ""; word, rest = nextWord(rest) {
		var lower [maxVerb]byte
		if len(word) > maxVerb {
			joined, before = false, phrase{}
			continue
		}
		for i := range len(word) {
			lower[i] = word[i]
			if 'A' <= word[i] && word[i] <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		}
		w := lower[:len(word)]
		v, ok := verbs[string(w)]
		if ok && (!v.noun || class == 0 || joined) {
			if v.class > class {
				class, strongest = v.class, word
			}
		}
		if before.next(w, v) && class < Destructive {
			class, strongest = Destructive, word
		}
		joined = string(w) == "and" || string(w) == "or" || string(w) == "then"
	}
	if class == 0 {
		return Unknown, ""
	}
	return class, strongest
}

// maxVerb exceeds the length of the longest verb, in bytes.
const maxVerb = 16

// nextWord cuts the first word from a name: a run of ASCII letters. It ends where a capital
// follows a small letter, and before the last of several capitals if a small letter follows.
func nextWord(name string) (word, rest string) {
	start := 0
	for start < len(name) && !isLetter(name[start]) {
		start++
	}
	end := start
	for end < len(name) && isLetter(name[end]) {
		if end > start && isCapital(name[end]) &&
			(!isCapital(name[end-1]) || end+1 < len(name) && isLetter(name[end+1]) && !isCapital(name[end+1])) {
			break
		}
		end++
	}
	return name[start:end], name[end:]
}

func isLetter(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }
