package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// maxTextBytes bounds what one tool answers as text.
const maxTextBytes = 1 << 20

// A repo is one git repository. Its methods are the tools; they are safe for
// concurrent use, each runs git on its own.
type repo struct {
	root string // the top of the work tree
}

// openRepo finds the repository that contains dir. One without a commit is an error,
// since it has no history to show.
func openRepo(ctx context.Context, dir string) (*repo, error) {
	r := &repo{root: dir}
	top, err := r.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	r.root = strings.TrimSpace(top)
	if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return nil, fmt.Errorf("open repository %s: it has no commits yet", dir)
	}
	return r, nil
}

// git runs one git command in the repository and returns what it printed.
func (r *repo) git(ctx context.Context, args ...string) (string, error) {
	// Paths are printed as they are: no quotes around those beyond ASCII. The
	// user's own settings must not change the answers.
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-C", r.root, "--no-pager", "--literal-pathspecs", "-c", "core.quotePath=false", "-c", "log.showSignature=false",
	}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); first != "" {
			return "", errors.New(strings.TrimPrefix(first, "fatal: "))
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

// commitID resolves what a caller calls a commit: an id, a short id, a tag or
// a branch. What it returns is safe as an argument of git.
func (r *repo) commitID(ctx context.Context, name string) (string, error) {
	var id string
	err := errors.New("not a name")
	if name != "" && name[0] != '-' {
		id, err = r.git(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	}
	if err != nil {
		return "", fmt.Errorf("no commit %q: take a sha from list_commits", name)
	}
	return strings.TrimSpace(id), nil
}

type listCommitsIn struct {
	Limit int    `json:"limit,omitempty" jsonschema:"how many commits at most; 20 unless given, 1000 at most"`
	Path  string `json:"path,omitempty" jsonschema:"only commits that changed this file or directory"`
	Since string `json:"since,omitempty" jsonschema:"only commits after this date, such as 2026-01-31 or 2 weeks ago"`
}

type listCommitsOut struct {
	Commits []commit `json:"commits"`
}

type commit struct {
	SHA     string `json:"sha" jsonschema:"the full commit id"`
	Author  string `json:"author"`
	Date    string `json:"date" jsonschema:"when it was written, ISO 8601"`
	Subject string `json:"subject" jsonschema:"the first line of its message"`
}

func (r *repo) listCommits(ctx context.Context, in listCommitsIn) (listCommitsOut, error) {
	if in.Limit < 0 {
		return listCommitsOut{}, fmt.Errorf("limit is %d: give a positive number", in.Limit)
	}
	limit := min(cmp.Or(in.Limit, 20), 1000)
	args := []string{"log", "--max-count=" + strconv.Itoa(limit), "--format=%H%x1f%aN%x1f%aI%x1f%s"}
	if in.Since != "" {
		args = append(args, "--since="+in.Since)
	}
	args = append(args, "HEAD", "--")
	if in.Path != "" {
		args = append(args, in.Path)
	}
	text, err := r.git(ctx, args...)
	if err != nil {
		return listCommitsOut{}, err
	}
	out := listCommitsOut{Commits: []commit{}}
	for line := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x1f", 4); len(f) == 4 {
			out.Commits = append(out.Commits, commit{SHA: f[0], Author: f[1], Date: f[2], Subject: f[3]})
		}
	}
	return out, nil
}

type changedFilesIn struct {
	SHA string `json:"sha" jsonschema:"the commit: its id, a tag or a branch"`
}

type changedFilesOut struct {
	SHA   string       `json:"sha" jsonschema:"the full commit id"`
	Files []fileChange `json:"files"`
}

type fileChange struct {
	Path    string `json:"path" jsonschema:"the file, from the root of the repository"`
	Added   int    `json:"added" jsonschema:"lines added; 0 in a binary file"`
	Deleted int    `json:"deleted" jsonschema:"lines deleted; 0 in a binary file"`
	Binary  bool   `json:"binary,omitempty"`
}

func (r *repo) changedFiles(ctx context.Context, in changedFilesIn) (changedFilesOut, error) {
	id, err := r.commitID(ctx, in.SHA)
	if err != nil {
		return changedFilesOut{}, err
	}
	text, err := r.git(ctx, "show", "-m", "--first-parent", "--no-renames", "--numstat", "-z", "--format=", id)
	if err != nil {
		return changedFilesOut{}, err
	}
	return changedFilesOut{SHA: id, Files: parseNumstat(text)}, nil
}

// parseNumstat reads the records of git's --numstat -z without renames:
// added TAB deleted TAB path NUL, with "-" for the lines of a binary file.
func parseNumstat(text string) []fileChange {
	files := []fileChange{}
	for record := range strings.SplitSeq(text, "\x00") {
		f := strings.SplitN(strings.TrimLeft(record, "\n"), "\t", 3)
		if len(f) != 3 || f[2] == "" {
			continue
		}
		added, err1 := strconv.Atoi(f[0])
		deleted, err2 := strconv.Atoi(f[1])
		files = append(files, fileChange{Path: f[2], Added: added, Deleted: deleted, Binary: err1 != nil || err2 != nil})
	}
	return files
}

type showDiffIn struct {
	SHA  string `json:"sha" jsonschema:"the commit: its id, a tag or a branch"`
	Path string `json:"path,omitempty" jsonschema:"only this file or directory"`
}

type textOut struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty" jsonschema:"whether text was cut at 1 MiB"`
}

func (r *repo) showDiff(ctx context.Context, in showDiffIn) (textOut, error) {
	id, err := r.commitID(ctx, in.SHA)
	if err != nil {
		return textOut{}, err
	}
	args := []string{"show", "-m", "--first-parent", "--no-ext-diff", "--no-color", "--format=", id, "--"}
	if in.Path != "" {
		args = append(args, in.Path)
	}
	text, err := r.git(ctx, args...)
	return cut(text), err
}

type fileAtCommitIn struct {
	SHA  string `json:"sha" jsonschema:"the commit: its id, a tag or a branch"`
	Path string `json:"path" jsonschema:"the file, from the root of the repository"`
}

func (r *repo) fileAtCommit(ctx context.Context, in fileAtCommitIn) (textOut, error) {
	id, err := r.commitID(ctx, in.SHA)
	if err != nil {
		return textOut{}, err
	}
	text, err := r.git(ctx, "cat-file", "blob", id+":"+in.Path)
	if err != nil {
		return textOut{}, fmt.Errorf("no file %q in commit %.12s: take a path from changed_files", in.Path, id)
	}
	return cut(text), nil
}

func cut(text string) textOut {
	clean := strings.ToValidUTF8(text[:min(len(text), maxTextBytes)], "\uFFFD")
	return textOut{Text: clean, Truncated: len(text) > maxTextBytes}
}

type listContributorsIn struct {
	Since string `json:"since,omitempty" jsonschema:"only commits after this date, such as 2026-01-31 or 2 weeks ago"`
}

type listContributorsOut struct {
	Contributors []contributor `json:"contributors"`
}

type contributor struct {
	Name    string `json:"name"`
	Commits int    `json:"commits"`
	First   string `json:"first" jsonschema:"date of the first commit, ISO 8601"`
	Last    string `json:"last" jsonschema:"date of the last commit, ISO 8601"`
}

func (r *repo) listContributors(ctx context.Context, in listContributorsIn) (listContributorsOut, error) {
	args := []string{"log", "--format=%aI%x1f%aN"}
	if in.Since != "" {
		args = append(args, "--since="+in.Since)
	}
	text, err := r.git(ctx, append(args, "HEAD", "--")...)
	if err != nil {
		return listContributorsOut{}, err
	}
	byName := map[string]*contributor{}
	out := listContributorsOut{Contributors: []contributor{}}
	for line := range strings.Lines(text) { // newest first
		date, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\x1f")
		if !ok {
			continue
		}
		c := byName[name]
		if c == nil {
			c = &contributor{Name: name, Last: date}
			byName[name] = c
		}
		c.Commits++
		c.First = date
	}
	for _, c := range byName {
		out.Contributors = append(out.Contributors, *c)
	}
	slices.SortFunc(out.Contributors, func(a, b contributor) int {
		return cmp.Or(cmp.Compare(b.Commits, a.Commits), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}
