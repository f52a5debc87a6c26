package broker

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/mcpbroker/mcpbroker/sandbox"
	"github.com/mcpbroker/mcpbroker/skills"
)

// maxSkillFiles bounds the files of all skills together.
const maxSkillFiles = 64 << 20

// skillFiles are the files of the skills that the script of x may use, for a
// runner that gives its scripts a file system. Nothing is looked at before that
// asks for them.
func (x *execution) skillFiles() *sandbox.Files {
	if x.o.Skills == nil {
		return nil
	}
	var list []*skills.Skill
	return &sandbox.Files{
		Dir: x.o.SkillsDir,
		Key: func() (key string) {
			x.b.RefreshSkills() // one that was switched off since then is not there
			list, key = x.skillsThatFit()
			return key
		},
		All: func(yield func(sandbox.File, error) bool) { eachFile(list, yield) },
	}
}

// filesUse says to one who has activated a skill where scripts find its files;
// empty if they do not.
func (b *Broker) filesUse(k *skills.Skill) string {
	o := b.options()
	if !hasFolder(k) || !slices.Contains(o.Languages, sandbox.Python) {
		return ""
	}
	return fmt.Sprintf("\nPython in execute_code finds the files of this skill in %s, read-only.", o.folderOf(k))
}

// folderOf is where programs in containers find the files of a skill.
func (o *Options) folderOf(k *skills.Skill) string { return o.SkillsDir + "/" + path.Base(k.Ref) }

// skillsThatFit are the skills whose files a script finds, and a text that
// changes with any of the files. One that is left out is a note, if the script
// may be after it.
func (x *execution) skillsThatFit() (list []*skills.Skill, key string) {
	sum, left := sha256.New(), int64(maxSkillFiles)
	for _, k := range x.usableSkills() {
		stamp, size, err := k.Stamp()
		if err == nil && size > left {
			err = fmt.Errorf("all skills together have more than %d MiB", maxSkillFiles>>20)
		}
		if err != nil {
			if strings.Contains(x.req.Code, "skills") {
				x.notes = append(x.notes, fmt.Sprintf("the files of skill %s are not in %s: %v", k.Ref, x.o.SkillsDir, err))
			}
			continue
		}
		left -= size
		list = append(list, k)
		_, _ = io.WriteString(sum, k.Ref+"\x00"+k.Origin()+"\x00"+stamp+"\x00\x00") // never fails
	}
	if len(list) == 0 {
		return nil, ""
	}
	return list, hex.EncodeToString(sum.Sum(nil))
}

// eachFile yields the files of skills, each skill in a folder of its name. A
// skill that has gone since then is left out.
func eachFile(list []*skills.Skill, yield func(sandbox.File, error) bool) {
	for _, k := range list {
		b, err := k.Bundle()
		if _, ok := errors.AsType[*skills.FileError](err); ok {
			continue
		}
		if err != nil {
			yield(sandbox.File{}, err)
			return
		}
		if !eachOf(b, k.Ref, yield) {
			return
		}
	}
}

// eachOf yields the files of one skill, and reports whether to go on.
func eachOf(b *skills.Bundle, folder string, yield func(sandbox.File, error) bool) bool {
	for _, f := range b.Files {
		if !yield(sandbox.File{Path: folder + "/" + f.Path, Executable: f.Executable, Data: f.Data}, nil) {
			return false
		}
	}
	return true
}
