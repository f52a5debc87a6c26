package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbroker/mcpbroker/discovery"
	"github.com/mcpbroker/mcpbroker/internal/catalogues"
	"github.com/mcpbroker/mcpbroker/policy"
)

// Names of published tools that say nothing of themselves in annotations, with
// what they do, and a few in other styles.
func TestClassesOfNames(t *testing.T) {
	for want, names := range map[policy.Class][]string{
		policy.Read: {
			"get_file_contents", "get_pull_request_comments", "list_commits", "search_code", "slack_get_channel_history",
			"slack_list_channels", "maps_reverse_geocode", "maps_search_places", "tavily_search", "kubectl_get",
			"get_merge_request_notes", "list_pull_request_reviews", "getDocument", "GET_user", "browser.getPDFLinks", "get-schedule",
			"list_draft_releases", "query-docs", "is_archived", "get_workflow_run",
			"get_transfer", "list_token_transfers", "check_transfer_status", "get_flush_interval_info", "is_empty", "find_empty_folders", "get_expire_time", "list_disk_formats",
		},
		policy.Unknown: {
			"", "123", "ééé", "maps_elevation", "run_resource_action", "exec_in_pod", "browser_tabs", "sequentialthinking", "execute_sql",
			"download_figma_images", "resolve_merge_request_thread", "a_name_with_averyveryverylongwordinit", "dns_brute_force", "force_graph", "power_usage", "take_5",
		},
		policy.Write: {
			"create_or_update_file", "push_files", "fork_repository", "merge_pull_request", "merge_merge_request", "add_issue_comment",
			"create_pull_request_review", "slack_post_message", "slack_reply_to_thread", "update_default_branch", "monitor_create",
			"mark_all_todos_done", "upload", "send", "search_and_update", "getOrCreateUser", "list_and_merge", "HTTPPostForm", "cancel-calendar-event",
			"format_text", "format-excel-range", "formatMarkdown", "format_code", "format_date", "create_transfer_template", "create_empty_file", "send_workforce_note",
			"git_revert", "reboot_host", "deactivate_user", "abort_build", "withdraw_offer",
		},
		policy.Destructive: {
			"delete_branch", "monitor_delete", "uninstall_helm_chart", "cleanup", "drop-collection", "kubectl_delete", "removeLabel", "DELETE_ALL",
			"getAndDelete", "create_or_delete_row", "browser_clear_storage", "drag_and_drop",
			"nuke_workspace", "shredFile", "expunge_mailbox", "redis_flushall", "flush_cache", "evict_pod", "obliterate_depot", "shutdown_vm",
			"shutDownInstance", "power_off_server", "tear_down_stack", "teardown", "decommission_node", "deregister_image", "unregister-service",
			"zap_all", "json_del", "hdel", "delist_item", "disposeAsset", "invalidate_cache", "recreate_container", "deallocate_vm",
			"transfer", "transfer_tokens", "transferOwnership", "ibc-transfer", "empty_bucket", "expire_snapshots", "burn_token", "void_invoice",
			"force_push", "git_push_force", "forcePushBranch", "force-update-ref", "forced_merge_pr",
			"format_disk", "formatDrive", "format_usb_volume", "reformat_partition", "format-sd-device",
		},
	} {
		for _, name := range names {
			if got := policy.ClassOf(&discovery.Tool{ListedTool: discovery.ListedTool{Name: name}}); got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

func TestAnnotationsAndNames(t *testing.T) {
	yes, no := new(true), new(false)
	for _, tt := range []struct {
		name                  string
		readOnly, destructive *bool
		want                  policy.Class
	}{
		{"get_page", yes, nil, policy.Read},
		{"create_chart", yes, no, policy.Read},
		{"wait", yes, nil, policy.Read},
		{"delete_page", yes, nil, policy.Destructive},
		{"get_page", yes, yes, policy.Read},
		{"get_page", no, yes, policy.Write},
		{"get_page", no, nil, policy.Write},
		{"wait", no, nil, policy.Write},
		{"update_page", no, yes, policy.Destructive},
		{"delete_page", no, no, policy.Destructive},
		{"wait", nil, yes, policy.Destructive},
		{"wait", nil, no, policy.Unknown},
	} {
		tool := &discovery.Tool{ListedTool: discovery.ListedTool{Name: tt.name, Annotations: discovery.Annotations{ReadOnly: tt.readOnly, Destructive: tt.destructive}}}
		if got := policy.ClassOf(tool); got != tt.want {
			t.Errorf("%s, %v, %v: %v, want %v", tt.name, tt.readOnly, tt.destructive, got, tt.want)
		}
	}
}

// For the tools of many servers, the class agrees with their hints, and the name alone
// hardly ever makes a writer Read.
func TestClassesOfPublishedTools(t *testing.T) {
	var readers, writers, missed, unclear, tools int
	for _, file := range catalogues.All() {
		var l discovery.Listing
		if err := json.Unmarshal(file.Data, &l); err != nil {
			t.Fatal(file.Name, err)
		}
		for _, lt := range l.Tools {
			tools++
			a := lt.Annotations
			got := policy.ClassOf(&discovery.Tool{ListedTool: lt})
			if got == policy.Unknown {
				unclear++
			}
			if a.ReadOnly == nil {
				continue
			}
			if *a.ReadOnly != (got == policy.Read) {
				t.Errorf("%s %s: %v, annotations %s", file.Name, lt.Name, got, mustJSON(a))
			}
			lt.Annotations = discovery.Annotations{}
			named := policy.ClassOf(&discovery.Tool{ListedTool: lt})
			if *a.ReadOnly {
				readers++
			} else if writers++; named == policy.Read {
				missed++
				t.Logf("by its name, a reader: %s %s", file.Name, lt.Name)
			}
		}
	}
	t.Logf("%d tools: %d marked as readers, %d as writers, %d of which read by their name; %d unclear", tools, readers, writers, missed, unclear)
	if readers < 20 || writers < 20 || missed*100 > writers || unclear*25 > tools {
		t.Errorf("%d of %d writers are readers by their name, %d of %d tools are unclear", missed, writers, unclear, tools)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
