package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// browserStart is how long the program that starts a browser may take to fail.
// Some of them stay for as long as the browser does.
const browserStart = 3 * time.Second

// OpenBrowser shows url in the user's browser.
func OpenBrowser(url string) error {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" && os.Getenv("BROWSER") == "" {
			return errors.New("there is no display")
		}
	}
	cmd := exec.Command(name, args...) // without our terminal: stdout may be read by a program
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case <-time.After(browserStart): // it is showing the page
	}
	return nil
}
