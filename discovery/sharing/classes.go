package sharing

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/discovery"
)

// The classes of tools, as package policy spells them.
const (
	read        = "read"
	unknown     = "unknown"
	write       = "write"
	destructive = "destructive"
)

// A judged is the class of some tools of a published server, and the reason.
type judged struct {
	class, why string
	tools      string // names, separated by spaces
}

// A reviewed server. A tool that is not judged keeps the class from its name and its
// server's annotations, which were right.
type reviewedServer struct {
	// names are packages as in published, and hosts of servers that the vendor runs,
	// separated by spaces.
	names  string
	judged []judged
}

// Reasons that several servers share.
const (
	onlyAsks   = "it only queries a service and changes nothing there"
	actsOnPage = "it acts on a page as a person would; a click or a key may send a form, but destroys nothing by itself"
	looksAt    = "it only changes what the browser shows"
	arbitrary  = "it runs code that the caller writes"
	addsOnly   = "it adds something and changes nothing that exists"
)

// reviews are the most widely used servers. A tool is judged by a person, from what it
// does with the worst arguments that its schema allows; it gets a milder class than its
// server's hints only if it cannot lose anything for good. Tools that delete,
// overwrite, run code or upload the user's files never get a milder class.
var reviews = []reviewedServer{
	{"@playwright/mcp mcp/playwright mcr.microsoft.com/playwright/mcp", []judged{
		{write, looksAt, "browser_close browser_resize browser_emulate_media browser_navigate browser_navigate_back browser_hover browser_tabs browser_navigate_forward browser_tab_list browser_tab_new browser_tab_select browser_tab_close"},
		{write, actsOnPage, "browser_click browser_type browser_press_key browser_fill_form browser_select_option browser_drag"},
		{destructive, arbitrary, "browser_evaluate browser_run_code browser_run_code_unsafe"},
		{destructive, "it uploads files of this computer to a page", "browser_file_upload browser_drop"},
		{destructive, "it confirms dialogs of a page, such as before a deletion", "browser_handle_dialog"},
	}},
	{"chrome-devtools-mcp", []judged{
		{read, "it looks at a page, or waits for it", "list_pages select_page wait_for list_console_messages get_console_message list_network_requests"},
	}},
	{"@modelcontextprotocol/server-puppeteer mcp/puppeteer", []judged{
		{read, "it takes a picture of the page", "puppeteer_screenshot"},
		{write, looksAt, "puppeteer_navigate puppeteer_hover"},
		{write, actsOnPage, "puppeteer_click puppeteer_fill puppeteer_select"},
		{unknown, arbitrary, "puppeteer_evaluate"},
	}},
	{"@executeautomation/playwright-mcp-server", []judged{
		{write, looksAt, "playwright_navigate playwright_hover playwright_resize playwright_close playwright_go_back playwright_go_forward playwright_custom_user_agent"},
		{write, actsOnPage, "playwright_click playwright_iframe_click playwright_fill playwright_iframe_fill playwright_select playwright_drag playwright_press_key playwright_click_and_switch_tab"},
		{read, "it reads the page", "playwright_get_visible_text playwright_get_visible_html"},
		{unknown, arbitrary, "playwright_evaluate"},
	}},
	{"@notionhq/notion-mcp-server mcp/notion", []judged{
		{read, "the service is asked with POST, and nothing is changed", "API-post-search API-query-data-source API-post-database-query"},
		{write, addsOnly, "API-post-page API-create-a-comment API-create-a-data-source API-create-a-database API-patch-block-children"},
	}},
	{"@negokaz/excel-mcp-server", []judged{
		{read, "it reads a workbook", "excel_describe_sheets excel_read_sheet excel_screen_capture"},
		{write, addsOnly, "excel_copy_sheet"},
	}},
	{"@softeria/ms-365-mcp-server", []judged{
		{read, "the service is asked with POST, and nothing is changed", "extract-drive-item-sensitivity-labels"},
		{write, "it makes a draft that a person may look at; nothing is sent", "create-draft-email create-forward-draft create-reply-draft create-reply-all-draft " +
			"create-shared-mailbox-draft create-shared-mailbox-forward-draft create-shared-mailbox-reply-draft create-shared-mailbox-reply-all-draft"},
		{write, "it adds something to the user's own account and notifies nobody else", "create-mail-folder create-mail-child-folder copy-mail-message create-todo-task-list create-todo-task create-todo-linked-resource " +
			"create-onenote-notebook create-onenote-section create-onenote-page create-onenote-section-page create-contact-folder create-contact-child-folder create-contact-in-folder create-outlook-contact " +
			"create-calendar create-outlook-category create-excel-table create-excel-chart add-excel-table-rows"},
		{write, "it postpones a reminder of the user", "snooze-calendar-event-reminder dismiss-calendar-event-reminder"},
		{destructive, "it sends any requests, including deletions", "graph-batch"},
	}},
	{"firecrawl-mcp mcp/firecrawl mcp.firecrawl.dev", []judged{
		{write, "it ends a browser session that a call has opened", "firecrawl_interact_stop"},
	}},
	{"@modelcontextprotocol/server-filesystem mcp/filesystem", []judged{
		{destructive, "it overwrites a file", "write_file edit_file"},
		{destructive, "it replaces a file that is at the destination", "move_file"},
	}},
	{"@wonderwhy-er/desktop-commander", []judged{
		{destructive, "it runs or feeds a program of this computer", "start_process interact_with_process"},
		{destructive, "it overwrites a file", "write_file write_pdf edit_block move_file"},
	}},
	{"@modelcontextprotocol/server-postgres mcp/postgres", []judged{
		{unknown, "its transaction is read-only, but a text of several statements may leave it", "query"},
	}},
	{"mcp-server-sqlite mcp-server-sqlite-npx mcp/sqlite", []judged{
		{read, "it only runs a SELECT", "read_query"},
		{destructive, "it runs any statement, including DELETE and DROP", "write_query"},
	}},
	{"mongodb-mcp-server mcp/mongodb", []judged{
		{destructive, "it may drop the collection that has the new name", "rename-collection"},
		{destructive, "it overwrites documents", "update-many"},
	}},
	{"@modelcontextprotocol/server-google-maps mcp/google-maps", []judged{
		{read, onlyAsks, "maps_place_details maps_distance_matrix maps_elevation maps_directions"},
	}},
	{"tavily-mcp mcp/tavily mcp.tavily.com", []judged{
		{read, onlyAsks, "tavily_search tavily_extract tavily_map tavily_crawl tavily_research tavily-search tavily-extract tavily-map tavily-crawl"},
	}},
	{"@brave/brave-search-mcp-server @modelcontextprotocol/server-brave-search mcp/brave-search", []judged{
		{read, onlyAsks, "brave_summarizer brave_llm_context"},
	}},
	{"exa-mcp-server mcp.exa.ai", []judged{{read, onlyAsks, "web_search_exa web_fetch_exa"}}},
	{"duckduckgo-mcp-server mcp/duckduckgo", []judged{{read, onlyAsks, "search fetch_content"}}},
	{"mcp-server-fetch mcp/fetch", []judged{{read, "it fetches a page with GET", "fetch"}}},
	{"mcp-server-time mcp/time", []judged{{read, "it reads the clock", "get_current_time convert_time"}}},
	{"@upstash/context7-mcp mcp/context7 mcp.context7.com", []judged{{read, onlyAsks, "resolve-library-id query-docs get-library-docs"}}},
	{"@modelcontextprotocol/server-sequential-thinking mcp/sequentialthinking", []judged{{read, "it keeps a list of thoughts in its memory", "sequentialthinking"}}},
	{"@modelcontextprotocol/server-memory mcp/memory", []judged{
		{read, "it reads its own file", "open_nodes"},
		{write, addsOnly, "create_entities create_relations add_observations"},
	}},
	{"mcp-server-git mcp/git @cyanheads/git-mcp-server", []judged{
		{destructive, "changes that were not committed may be lost", "git_reset"},
		{read, "it reads the repository", "git_status git_diff_unstaged git_diff_staged git_diff git_log git_show"},
	}},
	{"@modelcontextprotocol/server-github mcp/github ghcr.io/github/github-mcp-server api.githubcopilot.com", []judged{
		{write, "a commit overwrites the file, and the history keeps the old one", "create_or_update_file push_files"},
	}},
	{"@zereight/mcp-gitlab mcp/gitlab", []judged{
		{destructive, "it may delete the source branch, and cannot be undone", "merge_merge_request"},
		{destructive, "it changes who may overwrite a branch", "protect_branch unprotect_branch update_default_branch"},
	}},
	{"@modelcontextprotocol/server-slack mcp/slack", []judged{{write, addsOnly, "slack_post_message slack_reply_to_thread slack_add_reaction"}}},
	{"@cocal/google-calendar-mcp", []judged{
		{destructive, "it overwrites an event, and may tell its guests", "update-event"},
		{destructive, "it may remove an account", "manage-accounts"},
	}},
	{"mcp-server-kubernetes", []judged{
		{destructive, "it may stop workloads in the cluster", "kubectl_scale kubectl_rollout node_management"},
		{destructive, "it overwrites resources in the cluster", "kubectl_apply kubectl_patch install_helm_chart upgrade_helm_chart"},
		{destructive, "it runs any command", "exec_in_pod kubectl_generic"},
	}},
	{"n8n-mcp", []judged{
		{destructive, "its action may be to delete or to roll back", "n8n_executions n8n_workflow_versions n8n_manage_credentials n8n_manage_datatable n8n_manage_folders n8n_manage_agents"},
		{destructive, "it runs a workflow, which may do anything", "n8n_test_workflow n8n_evaluations"},
	}},
	{"@stripe/mcp mcp/stripe mcp.stripe.com", []judged{
		{destructive, "a cancelled subscription cannot be resumed", "cancel_subscription"},
	}},
	{"@sentry/mcp-server mcp/sentry mcp.sentry.dev", []judged{
		{write, "the issue keeps its history and can be restored", "update_issue"},
	}},
	{"mcp.notion.com", []judged{
		{read, onlyAsks, "notion-search notion-fetch notion-get-comments notion-get-teams notion-get-users notion-get-self"},
		{write, addsOnly, "notion-create-pages notion-create-database notion-create-comment notion-duplicate-page"},
	}},
	{"mcp.linear.app", []judged{
		{read, onlyAsks, "list_issues get_issue list_comments list_projects get_project list_teams list_users list_documents get_document search_documentation"},
		{write, addsOnly, "create_issue create_comment create_issue_label create_document create_attachment"},
		{write, "the issue keeps its history and can be restored", "update_issue save_issue"},
	}},
	{"mcp.deepwiki.com", []judged{{read, onlyAsks, "read_wiki_structure read_wiki_contents ask_question"}}},
	{"learn.microsoft.com", []judged{{read, onlyAsks, "microsoft_docs_search microsoft_docs_fetch microsoft_code_sample_search"}}},
	{"@antv/mcp-server-chart", []judged{{read, "it draws a picture from its arguments", "generate_spreadsheet"}}},
	{"figma-developer-mcp", []judged{{write, "it writes pictures into a folder", "download_figma_images"}}},
	{"argocd-mcp", []judged{{destructive, "it deletes an application and its workloads", "delete_application"}}},
}

// reviewed are the reviews by package or host, then by tool.
var reviewed = sync.OnceValue(func() map[string]map[string]*discovery.Review {
	byName := make(map[string]map[string]*discovery.Review)
	for _, s := range reviews {
		for name := range strings.FieldsSeq(s.names) {
			tools := make(map[string]*discovery.Review)
			for _, j := range s.judged {
				for tool := range strings.FieldsSeq(j.tools) {
					tools[tool] = &discovery.Review{Class: j.class, Why: j.why, Package: name}
				}
			}
			byName[name] = tools
		}
	}
	return byName
})

// Reviewed returns a copy of a listing with the reviews of its tools, if the command
// line starts a published server, or mcp-remote for a server that its vendor runs.
func Reviewed(command string, args []string, l discovery.Listing) discovery.Listing {
	if tools, _, ok := lookup(reviewed(), command, args); ok {
		return withReviews(l, tools)
	}
	if _, _, ok := lookup(bridges, command, args); ok {
		if i := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "://") }); i >= 0 {
			return ReviewedAt(args[i], l)
		}
	}
	return l
}

// bridges are the programs that pass messages on to the server at an address among
// their arguments.
var bridges = map[string]bool{"mcp-remote": true}

// ReviewedAt is Reviewed for a server at an address. Only the host of the vendor itself
// counts, over https and at its usual port.
func ReviewedAt(address string, l discovery.Listing) discovery.Listing {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Port() != "" && u.Port() != "443" {
		return l
	}
	host := strings.ToLower(u.Hostname())
	tools, ok := reviewed()[host]
	if !ok || !strings.Contains(host, ".") {
		return l
	}
	return withReviews(l, tools)
}

// withReviews returns a copy of a listing with reviews of its tools.
func withReviews(l discovery.Listing, tools map[string]*discovery.Review) discovery.Listing {
	l.Tools = slices.Clone(l.Tools)
	for i := range l.Tools {
		l.Tools[i].Review = tools[l.Tools[i].Name]
	}
	return l
}
