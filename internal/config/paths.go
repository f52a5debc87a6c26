package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// fileName is the name of the configuration file in the searched folders.
const fileName = "servers.json"

// Find returns the path of the configuration file: flag, the value of --config, if it is not
// empty, otherwise ./servers.json, otherwise $XDG_CONFIG_HOME/broker/servers.json. If there is no
// file, it returns an error with advice that wraps ErrNoConfig.
func Find(flag string) (string, error) {
	if flag != "" {
		if err := isFile(flag); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w at %s: check the path given to --config", ErrNoConfig, flag)
		} else if err != nil {
			return "", fmt.Errorf("--config: %w", err)
		}
		return flag, nil
	}
	candidates := []string{fileName}
	if home, err := configHome(); err == nil {
		candidates = append(candidates, filepath.Join(home, "broker", fileName))
	}
	for _, path := range candidates {
		switch err := isFile(path); {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("read config: %w", err)
		}
	}
	return "", fmt.Errorf("%w: there is no %s here and no %s; write one, name one with --config, or type: broker import",
		ErrNoConfig, candidates[0], candidates[len(candidates)-1])
}

func isFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a directory: name the file in it", path)
	}
	return nil
}

// StateDir returns the absolute path of the state directory, which it creates with mode 0700 if
// necessary: flag, the value of --state-dir, if it is not empty, otherwise
// $XDG_STATE_HOME/broker/NAME-HASH, where NAME and HASH derive from the configuration file's name
// and absolute path. An empty configPath means that there is no file; all such runs share one
// directory.
func StateDir(flag, configPath string) (string, error) {
	dir := flag
	if dir == "" {
		home, err := stateHome()
		if err != nil {
			return "", fmt.Errorf("find the state directory: %w: name one with --state-dir", err)
		}
		name, err := stateName(configPath)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, "broker", name)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the state directory: %w: name another with --state-dir", err)
	}
	return dir, nil
}

// stateName returns a name that is unique to the path of a configuration. A link and its target
// are one configuration.
func stateName(configPath string) (string, error) {
	if configPath == "" {
		return "default", nil
	}
	abs, err := filepath.Abs(configPath)
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '-', r == '_', r == '.', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return r
		}
		return '_'
	}, configName(abs))
	sum := sha256.Sum256([]byte(abs))
	return name[:min(len(name), 64)] + "-" + hex.EncodeToString(sum[:6]), nil
}

func configHome() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" {
		return os.UserConfigDir()
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".config"), err
}

func stateHome() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" {
		return os.UserCacheDir() // %LocalAppData%
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}
