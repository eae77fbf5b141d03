#!/bin/sh
# fetch.sh [SYSTEM FOLDER]
# Fetches the Dawn library (Chrome's WebGPU, Apache-2.0) that libraries.txt names for this system
# into the user's cache folder, where the programs look, or for another SYSTEM, such as
# windows/amd64, into a FOLDER. Checks the sums of the package and of the library. If the library is
# there already, nothing happens. Needs npm, tar and openssl.
set -eu

caches=${XDG_CACHE_HOME:-${HOME:-}/.cache} # Go's os.UserCacheDir
case "${1:-$(uname -s)-$(uname -m)}" in
*/*) system=$1 ;;
Linux-x86_64) system=linux/amd64 ;;
Darwin-arm64) system=darwin/arm64 caches=${HOME:-}/Library/Caches ;;
Darwin-x86_64) system=darwin/amd64 caches=${HOME:-}/Library/Caches ;;
MINGW*-x86_64 | MSYS*-x86_64) system=windows/amd64 caches=$(cygpath -u "${LOCALAPPDATA:-}") ;;
*) system="$(uname -s) on $(uname -m)" ;;
esac
line=$(grep "^$system " "$(dirname "$0")/libraries.txt") || {
	echo "dawn: no prebuilt library for $system: name your own with MRPRISM_DAWN_LIB, or use -device wgpu" >&2
	exit 1
}
read -r system package archived library sum <<END
$line
END
folder=${2:-$caches/mrprism/dawn}
case "${2:-$caches}" in
/.cache | /Library/Caches | "" | [!/]*)
	[ -n "${2:-}" ] || { echo "dawn: no cache folder to put the library in: set HOME, or XDG_CACHE_HOME to an absolute path" >&2; exit 1; }
	;;
esac
for tool in npm tar openssl; do
	command -v "$tool" >/dev/null || { echo "dawn: $tool is needed to fetch $package" >&2; exit 1; }
done

# is FILE SUM: whether the file has this SHA-512.
is() { [ "$(openssl dgst -sha512 -r "$1" | cut -d' ' -f1)" = "$2" ]; }

[ ! -f "$folder/$library" ] || ! is "$folder/$library" "$sum" || exit 0
mkdir -p "$folder"
temporary=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT TERM
echo "dawn: fetching $package"
(cd "$temporary" && npm pack --silent "$package" >/dev/null)
is "$temporary"/*.tgz "$archived" || { echo "dawn: $package is not what libraries.txt names: not unpacked" >&2; exit 1; }
tar -xzf "$temporary"/*.tgz -C "$temporary"
is "$temporary/package/$library" "$sum" || { echo "dawn: $library in $package is not what libraries.txt names" >&2; exit 1; }
mv -f "$temporary/package/LICENSE" "$temporary/package/$library" "$folder"
echo "dawn: $folder/$library"
