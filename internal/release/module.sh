#!/usr/bin/env bash
# module.sh HOST/PATH gives the Go module in this tree the path at which it is hosted, in every file that
# names it. Commit what it changes.
# module.sh HOST/PATH VERSION OUT packs the last commit under that path, and leaves the tree alone: OUT is a
# folder for GOPROXY=file://OUT. `make proxy` calls it so.
set -euo pipefail
cd "$(dirname "$0")/../.."
new=$1
[[ $new =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9][A-Za-z0-9._~-]*)+$ ]] || { echo "module.sh: $new: give HOST/PATH, such as example.org/me/mrprism" >&2; exit 2; }

if [ $# = 3 ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	git clone --quiet --shared . "$work/tree"
	"$work/tree/internal/release/module.sh" "$new"
	folder=$3/$(sed 's/[A-Z]/!\l&/g' <<<"$new")/@v
	mkdir -p "$folder"
	git -C "$work/tree" add --all
	mapfile -t others < <(git -C "$work/tree" ls-files '*/go.mod' | sed 's|\(.*\)/go.mod|:!\1|') # modules of their own
	git -C "$work/tree" archive --format=zip --prefix="$new@$2/" -o "$folder/$2.zip" "$(git -C "$work/tree" write-tree)" "${others[@]}"
	cp "$work/tree/go.mod" "$folder/$2.mod"
	printf '{"Version":"%s","Time":"%s"}\n' "$2" "$(TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" >"$folder/$2.info"
	echo "$2" >"$folder/list"
	exit
fi

OLD=$(sed -n 's/^module //p' go.mod) NEW=$new
export OLD NEW
# Imports, linkers' flags and go.mod name it; so does what asks go list.
git ls-files -z -- '*.go' '*.mod' '*.sh' '*.mk' '*.md' Makefile | xargs -0 perl -pi -e '
	s{(?<![\w./-])\Q$ENV{OLD}\E(?=/(?:cmd|internal|model|shaders|site|wasm|weights)\b|/")}{$ENV{NEW}}g;
	s{(?<=\bmodule )\Q$ENV{OLD}\E(?![\w/.-])}{$ENV{NEW}}g;
	s{^(\s*(?:replace )?)\Q$ENV{OLD}\E(?= (?:v0\.0\.0|=>))}{$1$ENV{NEW}};
	s{^((?:import |\t)(?:\w+ )?")\Q$ENV{OLD}\E(?="$)}{$1$ENV{NEW}};
	s{(\{\{\.Dir\}\}", ")\Q$ENV{OLD}\E(?=")}{$1$ENV{NEW}};'
git diff --name-only -z -- '*.go' | xargs -0 -r gofmt -w
