#!/bin/sh
# Writes the file system of an image with the Node of this machine to stdout, as a
# tar archive: the program, the shared libraries that it needs, and what Debian's
# keeps in files of its own. For machines without a registry:
#
#	images/node/rootfs.sh | broker sandbox build node --rootfs -
#
# $1 is the program, the node in $PATH if it is not given.
set -eu
node=$(readlink -f "${1:-$(command -v node)}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

libraries=$(ldd "$node" 2>/dev/null | grep -o '/[^ :]*\.so[^ :]*' | sort -u)
parts=
for name in acorn acorn-walk cjs-module-lexer undici; do
	[ ! -e "/usr/share/nodejs/$name" ] || parts="$parts /usr/share/nodejs/$name"
done
# shellcheck disable=SC2086 # one word for each file
tar -chf - "$node" $libraries $parts 2>/dev/null | tar -C "$dir" -xf -
mkdir -p "$dir/tmp" "$dir/usr/bin"
chmod 755 "$dir" # some engines give the root of a container this mode
chmod 1777 "$dir/tmp" # what is mounted there gets this mode
[ -e "$dir/usr/bin/node" ] || ln -s "$node" "$dir/usr/bin/node"
tar -C "$dir" --numeric-owner --owner=0 --group=0 -cf - .
