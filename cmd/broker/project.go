package main

import (
	"os"

	application "github.com/mcpbroker/mcpbroker/internal/app"
)

// here returns the folder of this process that determines the project, or "".
func (a *app) here() string {
	dir, err := os.Getwd()
	if err != nil || a.whole || a.nowhere {
		return ""
	}
	return dir
}

// readProject reads what the project of the working directory says, if there is
// one.
func (a *app) readProject(state string) (*application.Project, error) {
	p, err := application.OpenProject(application.ProjectPath(a.here()), state)
	if p != nil {
		p.Bound = a.chosenProfile()
	}
	return p, err
}

// see narrows what this session sees: to the chosen profile, or that of the
// project or of the config.
func (s *App) see(a *app) {
	if s.Bound, s.Broker = s.Root, s.Root; a.whole {
		return
	}
	s.Bound = s.Root.View(a.chosenProfile())
	s.Broker = s.Project.View(s.Bound, s.Config, a.chosenProfile())
}
