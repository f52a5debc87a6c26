// Package daemon lets one process serve many stdio clients: there is a daemon for each state
// directory, and a client starts a bridge to it instead of a broker of its own.
//
// A bridge connects to the daemon's socket, starts a daemon if necessary, and exchanges
// one line of JSON with it: [Hello] and [Welcome]. The client's MCP stream follows,
// unchanged, one message a line. A conversation is one connection, and ends with it.
//
// The path of the socket depends only on the state directory, and only this user may
// connect. The daemon holds a lock while it lives, so each directory has at most one.
package daemon

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpbroker/mcpbroker/internal/lines"
)

// Version is the version of the first lines. Daemons and bridges of different builds with the same
// version understand each other.
const Version = 1

const (
	maxHelloBytes = 1 << 20
	// maxServerBytes bounds the servers in a Status, in bytes.
	maxServerBytes = maxHelloBytes - 1<<18
	// helloTime bounds the time for the other side's first line.
	helloTime = 2 * time.Second
)

// The operations of a Hello.
const (
	OpServe  = "serve"
	OpStatus = "status"
	OpStop   = "stop"
	// OpConsole and OpConsoleShow request the address of the console; with the latter it is
	// read-only.
	OpConsole     = "console"
	OpConsoleShow = "console-show"
)

// ErrRunning reports that another process is the daemon of a state directory.
var ErrRunning = errors.New("a daemon is running for this state directory")

// A Hello is the first line of a connection.
type Hello struct {
	Broker int    `json:"broker"`
	Op     string `json:"op"`
	Build  Build  `json:"build"`
	PID    int    `json:"pid"`
	// Dir is the client's working directory, and Root its project folder if the daemon has learnt
	// that.
	Dir  string `json:"dir,omitempty"`
	Root string `json:"root,omitempty"`
	// Settings determine how a broker serves: the config's path and flags.
	Settings map[string]string `json:"settings,omitempty"`
	// Env contains the client's values of the variables that the config names.
	Env map[string]string `json:"env,omitempty"`
}

// A Welcome is the daemon's answer to a Hello.
type Welcome struct {
	Broker int     `json:"broker"`
	PID    int     `json:"pid"`
	Build  Build   `json:"build"`
	Status *Status `json:"status,omitempty"`
	// Console is an address that opens the console.
	Console string `json:"console,omitempty"`
	// Refused is the reason the daemon does not serve this client.
	Refused string `json:"refused,omitempty"`
	// Moved reports that the daemon has handed over: start another one. In a conversation it asks
	// the bridge to reconnect, with Root if that is not empty.
	Moved bool   `json:"moved,omitempty"`
	Root  string `json:"root,omitempty"`
}

// A Status describes a daemon.
type Status struct {
	Since   time.Time `json:"since"`
	Clients []Client  `json:"clients"`
	// Servers is the result of the Reporter, as JSON.
	Servers json.RawMessage `json:"servers,omitempty"`
}

// A Client is one conversation.
type Client struct {
	PID   int       `json:"pid"`
	Dir   string    `json:"dir"`
	Since time.Time `json:"since"`
}

// A Build identifies a program, and orders builds by age.
type Build struct {
	Version string    `json:"version"`
	Size    int64     `json:"size"`
	Time    time.Time `json:"time"`
}

// BuildOf describes the program at path.
func BuildOf(path, version string) (Build, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Build{}, err
	}
	return Build{Version: version, Size: info.Size(), Time: info.ModTime().UTC()}, nil
}

// replaces reports whether a bridge of this build wants a daemon of its own build instead of one
// of the other: the newer program wins.
func (b Build) replaces(other Build) bool {
	same := b.Version == other.Version && b.Size == other.Size && b.Time.Equal(other.Time)
	return !same && b.Time.After(other.Time)
}

// A location contains the paths of the daemon of a state directory.
type location struct {
	socket string
	folder string // of the socket; only this user may write there
	lock   string // held by the daemon
	start  string // held by the bridge that starts a daemon
}

// maxSocketPath is the length that every system allows, minus the suffix while binding.
const maxSocketPath = 92

// locationOf returns the location for a state directory. A path that is too long for a socket is
// replaced by one below /tmp.
func locationOf(stateDir string) location {
	p := location{
		socket: filepath.Join(stateDir, "daemon.sock"), folder: stateDir,
		lock: filepath.Join(stateDir, "daemon.lock"), start: filepath.Join(stateDir, "daemon.start"),
	}
	if len(p.socket) > maxSocketPath {
		p.folder = filepath.Join("/tmp", fmt.Sprintf("broker-%d", os.Getuid()))
		p.socket = filepath.Join(p.folder, sum(stateDir)+".sock")
	}
	return p
}

// sum returns a short name for a directory whose path is too long or contains unsuitable
// characters.
func sum(dir string) string {
	s := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(s[:8])
}

// LogPath returns the log file of the daemon of a state directory.
func LogPath(stateDir string) string { return filepath.Join(stateDir, "daemon.log") }

// writeLine writes v as one line.
func writeLine(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// readLine reads one line into v, for at most the given time.
func readLine(conn net.Conn, br *bufio.Reader, wait time.Duration, v any) error {
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	line, size, err := lines.Read(br, maxHelloBytes)
	if err != nil {
		return err
	}
	if size > maxHelloBytes {
		return fmt.Errorf("first line of %d bytes", size)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("first line: %w", err)
	}
	return conn.SetReadDeadline(time.Time{})
}

// Ask sends a request other than OpServe to the daemon of a state directory. The error
// wraps fs.ErrNotExist if no daemon runs.
func Ask(stateDir, op string, build Build) (Welcome, error) {
	return AskWithin(stateDir, op, build, 5*helloTime)
}

// AskWithin is like Ask, with a time limit for the daemon's answer.
func AskWithin(stateDir, op string, build Build, wait time.Duration) (Welcome, error) {
	conn, err := dial(locationOf(stateDir))
	if err != nil {
		if notRunning(err) {
			err = fmt.Errorf("no daemon is running for %s: %w", stateDir, os.ErrNotExist)
		}
		return Welcome{}, err
	}
	defer conn.Close()
	if err := writeLine(conn, Hello{Broker: Version, Op: op, Build: build, PID: os.Getpid()}); err != nil {
		return Welcome{}, err
	}
	var w Welcome
	if err := readLine(conn, bufio.NewReader(conn), wait, &w); err != nil {
		return Welcome{}, fmt.Errorf("the daemon does not answer: %w", err)
	}
	return w, nil
}
