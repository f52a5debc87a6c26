package index

import (
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// A query that only reads finds the tool that reads before the one that changes, even if
// that one has more to say of the matter.
func TestAQueryThatReadsFindsToolsThatRead(t *testing.T) {
	x := newIndex(t, catalog(
		discovery.ListedTool{Name: "settings_set", Description: "Set the key-value settings of a store. Settings have a key and a value in the store."},
		discovery.ListedTool{Name: "settings_get", Description: "Settings of a store: a key and its value."},
		discovery.ListedTool{Name: "machine_update", Description: "Update a virtual machine."},
		discovery.ListedTool{Name: "machine_get", Description: "A virtual machine of the subscription, with what belongs to it."},
		discovery.ListedTool{Name: "createVolume", Description: "Create a volume. Volumes keep data of the volume."},
		discovery.ListedTool{Name: "describeVolume", Description: "A volume."},
	))
	for query, want := range map[string]string{
		"show me the key-value settings in the store": "settings_get", "what virtual machines do I have": "machine_get", "which volume is it": "describeVolume",
		"set the key-value settings in the store": "settings_set", "update the virtual machine": "machine_update", "create a volume and show it": "createVolume",
	} {
		if got := ids(t, x, Query{Text: query}); len(got) == 0 || got[0] != "git_hub__"+want {
			t.Errorf("Search(%q) = %v, want %s first", query, got, want)
		}
	}
}

func TestEffectOfANameIsThatOfItsFirstVerb(t *testing.T) {
	for name, want := range map[string]effect{
		"list_issues": reading, "appconfig_kv_lock_set": changing, "getUpdates": reading, "update-search": changing, "browser_click": 0, "": 0,
		"storage/blob.upload": changing, "news": 0, "sql_query": reading,
	} {
		if got := effectOf(name); got != want {
			t.Errorf("effectOf(%q) = %d, want %d", name, got, want)
		}
	}
}
