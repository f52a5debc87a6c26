package skills

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbroker/mcpbroker/internal/jsoncheck"
)

// approvedKey is the key of a skill's entry in the file of switches that holds
// an approval.
const approvedKey = "approved"

// Approved returns the digest of the skill, as in Bundle.Digest, with scripts that a
// person has allowed to run on this host, or "". id is the Skill.ID.
func Approved(at Switchboard, id string) (digest string, err error) {
	entries, err := Entries(at, KindSkill)
	if err != nil {
		return "", err
	}
	entry, err := object(entries[id])
	if err == nil && entry[approvedKey] != nil {
		err = jsoncheck.Words(json.Unmarshal(entry[approvedKey], &digest))
	}
	if err != nil {
		return "", fmt.Errorf("read the approval of skill %s in %s: %w", quoted(id), at, err)
	}
	return digest, nil
}

// SetApproval allows scripts of the skill to run on this host for as long as its
// digest is this one; an empty digest takes that back.
func SetApproval(at Switchboard, id, digest string) error {
	return EditEntry(at, KindSkill, id, func(entry map[string]json.RawMessage) {
		delete(entry, approvedKey)
		if digest != "" {
			entry[approvedKey], _ = json.Marshal(digest)
		}
	})
}
