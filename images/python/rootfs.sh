#!/bin/sh
# Writes the file system of an image with the Python of this machine to stdout,
# as a tar archive: the interpreter, its standard library, a shell with the usual
# small programs for scripts of skills, and the shared libraries that they need.
# For machines without a registry:
#
#	images/python/rootfs.sh | broker sandbox build python --rootfs -
#
# $1 is the interpreter, /usr/bin/python3 if it is not given.
set -eu
tools="sh bash env cat cp mv rm mkdir ls ln touch sleep date head tail sort uniq wc cut tr tee seq basename dirname grep sed awk find xargs"
python=$(readlink -f "${1:-/usr/bin/python3}")
stdlib=$("$python" -I -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
dynload=$("$python" -I -c 'import sysconfig; print(sysconfig.get_config_var("DESTSHARED"))')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

programs=
for tool in $tools; do
	# Shells say of what is built in no path.
	path=$(PATH=/usr/bin:/bin command -v "$tool") || continue
	[ -x "$path" ] && programs="$programs $path"
done

# shellcheck disable=SC2086 # one word for each program
libraries=$(ldd "$python" "$dynload"/*.so $programs 2>/dev/null | grep -o '/[^ :]*\.so[^ :]*' | grep -v "^$dynload/" | sort -u)
# shellcheck disable=SC2086 # one word for each library
tar -chf - --exclude=test --exclude=tests --exclude=idlelib --exclude=tkinter --exclude=ensurepip --exclude=lib2to3 \
	--exclude='config-*' --exclude=site-packages --exclude=dist-packages --exclude='*.opt-?.pyc' \
	"$python" $programs $libraries "$stdlib" 2>/dev/null | tar -C "$dir" -xf -
mkdir -p "$dir/tmp" "$dir/usr/bin"
chmod 755 "$dir" # some engines give the root of a container this mode
chmod 1777 "$dir/tmp" # what is mounted there gets this mode
[ -e "$dir/bin" ] || ln -s usr/bin "$dir/bin"
[ -e "$dir/usr/bin/python3" ] || ln -s "$python" "$dir/usr/bin/python3"
tar -C "$dir" --numeric-owner --owner=0 --group=0 -cf - .
