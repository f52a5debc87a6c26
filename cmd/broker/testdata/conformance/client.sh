#!/bin/sh
# client.sh URL: an agent with a server at URL that lists its skills, loads one
# and goes on to a file of it if the text could be read. $BROKER is the broker,
# $CLIENT_DIR a folder of its own.
set -u
printf '{"mcpServers": {"conf": {"url": "%s"}}, "broker": {"skills": {"scan": false}}}' "$1" >"$CLIENT_DIR/servers.json"
skills() { "$BROKER" --config "$CLIENT_DIR/servers.json" --state-dir "$CLIENT_DIR/state" skills "$@"; }
skills list --json >"$CLIENT_DIR/list" || exit 1
[ "$CLIENT_LOADS" = no ] && exit 0
if skills read conf:pdf-processing 2>"$CLIENT_DIR/said"; then
	skills read conf:pdf-processing references/FORMS.md
fi
