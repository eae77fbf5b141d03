#!/usr/bin/env bash
# Makes a release of this commit in two clones, in folders of other names, and compares the files.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet --no-hardlinks . "$work/first"
git clone --quiet --no-hardlinks "$work/first" "$work/the-second/of-both"
for clone in first the-second/of-both; do
	make --no-print-directory -C "$work/$clone" release
done
diff -r "$work/first/build/release" "$work/the-second/of-both/build/release"
echo "both releases are the same, byte for byte"
