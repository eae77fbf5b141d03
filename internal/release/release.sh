#!/usr/bin/env bash
# release.sh VERSION COMMIT OUT builds a release of this commit in OUT, for all systems or those of
# TARGETS. `make release` calls it; RELEASE.md says what is in it.
# Needs Go, GNU tar, xz, ar, zip, jq, npm, openssl and Python 3.
set -euo pipefail
version=$1 commit=$2 out=$3
here=internal/release
programs=(bench export segment serve train) # and evaluate, of the module cmd/study
read -ra targets <<<"${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}"
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

# Nothing of this machine, its user or the hour may be in the files.
umask 022
export LC_ALL=C TZ=UTC0 GOFLAGS=-buildvcs=false CGO_ENABLED=0 GOAMD64=v1 GOARM64=v8.0
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
date=$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)
[ -z "$(git status --porcelain)" ] || { echo "make release: commit or remove what git status lists: a release is a commit" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out" "$work/share"

# build OS ARCH FOLDER builds all programs as mrprism-NAME.
build() {
	local ending=""
	[ "$1" = windows ] && ending=.exe
	for program in "${programs[@]}" study/evaluate; do
		GOOS=$1 GOARCH=$2 go build -C "cmd/$program" -trimpath -ldflags "-s -w -X mrprism/internal/program/version.built=$version+$commit" \
			-o "$3/mrprism-${program#study/}$ending" .
	done
}

# dawn OS ARCH FOLDER puts the Dawn library beside the programs, where there is a prebuilt one.
dawn() {
	grep -q "^$1/$2 " shaders/gpu/dawn/libraries.txt || return 0
	shaders/gpu/dawn/fetch.sh "$1/$2" "$work/dawn"
	cp "$work"/dawn/*webgpu_wrapper.* "$3"
	cp "$work/dawn/LICENSE" "$work/DAWN-LICENSE"
	rm -r "$work/dawn"
}

# packages lists module and folder of every package outside the standard library that is linked.
packages() {
	local format='{{with .Module}}{{if .Version}}{{if not .Replace}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}{{end}} {{.Dir}}'
	for target in "${targets[@]}"; do
		GOOS=${target%/*} GOARCH=${target#*/} go list -deps -f "$format" "${programs[@]/#/./cmd/}"
		GOOS=${target%/*} GOARCH=${target#*/} go list -C cmd/study -deps -f "$format" ./evaluate
	done
	GOOS=js GOARCH=wasm go list -deps -f "$format" ./wasm/segmenter ./wasm/viewer
}

# licence TITLE FILE... prints licences under a title.
licence() {
	printf '\n%s\n%s\n\n' "$1" "$(printf '%s' "$1" | tr -c '' =)"
	cat "${@:2}"
}

licences() {
	cat LICENSE
	printf '\nThe programs contain, or have beside them, what follows.\n'
	licence "Go, its standard library and wasm_exec.js" "$(go env GOROOT)/LICENSE"
	[ ! -e "$work/DAWN-LICENSE" ] || licence "Dawn, in the file webgpu_wrapper, from the npm packages bun-webgpu" "$work/DAWN-LICENSE"
	licence "The page's decoders of JPEG 2000, HTJ2K and JPEG-LS, from npm" site/codecs/LICENSES.txt
	licence "MobileNetV2's weights, from which some shipped weights began" weights/shipped/LICENSE-mobilenet_v2.txt
	cut -d' ' -f1-3 "$work/packages" | sort -u | while read -r path number folder; do
		mapfile -t files < <(grep -F "$path $number " "$work/packages" | cut -d' ' -f4 | cat - <(echo "$folder") | sort -u |
			xargs -I{} find {} {}/licenses -maxdepth 1 -type f \( -path '*/licenses/*' -o -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) 2>/dev/null | sort)
		[ ${#files[@]} -gt 0 ] || { echo "make release: $path has no licence" >&2; return 1; }
		licence "$path $number" "${files[@]}"
	done
}

# bill writes the SBOM: of the modules that both go.mod need, those that are linked, Dawn, and the page's decoders.
bill() {
	for module in . cmd/study; do go run -trimpath "$sbom" mod -json -std -noserial -notimestamp -short-purls "$module" 2>/dev/null; done |
		jq -s '. as $all | $all[0] | .components = ($all | map(.components) | add | unique_by(.["bom-ref"])) | .dependencies = ($all | map(.dependencies) | add | unique_by(.ref))' >"$work/sbom"
	cut -d' ' -f1 "$work/packages" | sort -u | jq -R . | jq -s '. + ["std"]' >"$work/linked"
	jq --arg version "$version" --slurpfile linked "$work/linked" --slurpfile codecs site/codecs/package-lock.json --arg dawn "$(grep -o 'bun-webgpu-linux-x64@[0-9.]*' shaders/gpu/dawn/libraries.txt)" '
		del(.metadata.tools[].hashes)
		| .metadata.component.version = $version
		| [.components[] | select(IN(.name; $linked[0][]) | not)["bom-ref"]] as $left
		| .components |= map(select(IN(.["bom-ref"]; $left[]) | not))
		| .dependencies |= map(select(IN(.ref; $left[]) | not) | if .dependsOn then .dependsOn -= $left else . end)
		| .components += [{type: "library", name: "dawn", version: ($dawn | split("@")[1]), description: "webgpu_wrapper of \($dawn) and its siblings for other systems", licenses: [{license: {id: "Apache-2.0"}}], purl: "pkg:npm/\($dawn)"}]
		| .components += [$codecs[0].packages | to_entries[] | select(.key != "") | (.key | ltrimstr("node_modules/")) as $name
			| {type: "library", name: $name, version: .value.version, description: "a decoder of the page", licenses: [{license: {id: "MIT"}}], purl: "pkg:npm/\($name | sub("@"; "%40"))@\(.value.version)"}]
	' "$work/sbom" >"$out/mrprism-$version.cdx.json"
}

# tarball FOLDER NAME... prints a compressed archive of what a folder has. Programs have the same
# weights in them, which are found again within 64 MiB.
tarball() {
	tar -C "$1" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX --format=ustar -c "${@:2}" |
		xz -T1 --lzma2=preset=2,dict=64MiB
}

# pack OS ARCH FOLDER makes the archive of a folder.
pack() {
	local name=mrprism-$version-$1-$2
	if [ "$1" = windows ]; then
		find "$3" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
		(cd "$3/.." && find "$name" -type f | sort | zip -X -q -9 -@ "$work/archive.zip")
		mv "$work/archive.zip" "$out/$name.zip"
	else
		tarball "$3/.." "$name" >"$out/$name.tar.xz"
	fi
}

# deb ARCH FOLDER makes the Debian package of the programs in a folder: the archive of deb(5).
deb() {
	local root=$work/deb-$1
	mkdir -p "$root"/usr/{bin,lib/mrprism,share/doc/mrprism,share/man/man1,share/lintian/overrides,share/bash-completion/completions,share/zsh/vendor-completions,share/fish/vendor_completions.d}
	for program in "${programs[@]}" evaluate; do
		install -m755 "$2/mrprism-$program" "$root/usr/lib/mrprism/"
		ln -s "../lib/mrprism/mrprism-$program" "$root/usr/bin/"
	done
	[ ! -e "$2/libwebgpu_wrapper.so" ] || install -m644 "$2/libwebgpu_wrapper.so" "$root/usr/lib/mrprism/"
	cp "$work/share/man/"* "$root/usr/share/man/man1/"
	cp "$work/share/completions/bash/"* "$root/usr/share/bash-completion/completions/"
	cp "$work/share/completions/zsh/"* "$root/usr/share/zsh/vendor-completions/"
	cp "$work/share/completions/fish/"* "$root/usr/share/fish/vendor_completions.d/"
	cp "$work/share/LICENSES.txt" "$root/usr/share/doc/mrprism/copyright"
	gzip -9n "$root"/usr/share/man/man1/*
	cp "$here/lintian" "$root/usr/share/lintian/overrides/mrprism"
	package mrprism "$1" "$root" control
}

# kiosk makes the Debian package of a machine that is a kiosk and nothing else: its policies hold for
# every use of Chromium and Chrome there. FOLDER has the programs for this machine.
kiosk() {
	local root=$work/deb-kiosk folder
	mkdir -p "$root"/usr/{lib/systemd/user,share/doc/mrprism-kiosk,share/lintian/overrides}
	for folder in chromium opt/chrome; do
		mkdir -p "$root/etc/$folder/policies/managed"
		"$1/mrprism-serve" -kiosk-policy >"$root/etc/$folder/policies/managed/mrprism-kiosk.json"
	done
	sed 's|%h/mrprism/serve|/usr/bin/mrprism-serve|' cmd/serve/kiosk.service >"$root/usr/lib/systemd/user/mrprism-kiosk.service"
	cp LICENSE "$root/usr/share/doc/mrprism-kiosk/copyright"
	cp cmd/serve/KIOSK.md "$root/usr/share/doc/mrprism-kiosk/"
	cp "$here/lintian-kiosk" "$root/usr/share/lintian/overrides/mrprism-kiosk"
	package mrprism-kiosk all "$root" control-kiosk
}

# package NAME ARCH ROOT CONTROL makes the archive of deb(5) of what a folder has, and removes the folder.
package() {
	local root=$3 kilobytes
	mkdir "$work/control"
	printf '%s (%s) stable; urgency=medium\n\n  * CHANGELOG.md of the source lists the changes.\n\n -- The MrPrism authors <mrprism@localhost>  %s\n' \
		"$1" "$version" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$root/usr/share/doc/$1/changelog.gz"
	kilobytes=$(find "$root" -type f -printf '%s\n' | awk '{sum += $1} END {print int(sum / 1024)}')
	sed "s/VERSION/$version/; s/ARCH/$2/; s/SIZE/$kilobytes/" "$here/$4" >"$work/control/control"
	(cd "$root" && find usr -type f | sort | xargs md5sum >"$work/control/md5sums")
	[ ! -e "$root/etc" ] || (cd "$root" && find etc -type f -printf '/%p\n' | sort >"$work/control/conffiles")
	echo 2.0 >"$work/debian-binary"
	tarball "$work/control" . >"$work/control.tar.xz"
	tarball "$root" . >"$work/data.tar.xz"
	(cd "$work" && ar rcD "$out/$1_${version}_$2.deb" debian-binary control.tar.xz data.tar.xz && rm -r "$root" control data.tar.xz)
}

make --no-print-directory site
for target in "${targets[@]}"; do
	os=${target%/*} arch=${target#*/}
	folder=$work/mrprism-$version-$os-$arch
	echo "$target"
	mkdir "$folder"
	build "$os" "$arch" "$folder"
	dawn "$os" "$arch" "$folder"
done
host=$work/mrprism-$version-$(go env GOHOSTOS)-$(go env GOHOSTARCH)
[ -d "$host" ] || build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$host"
go run "./$here" "$version" "$date" "$work/share" "$host"/mrprism-*
kiosk "$host"
packages | grep -v '^ ' | sort -u >"$work/packages"
licences >"$work/share/LICENSES.txt"
cp CHANGELOG.md cmd/serve/KIOSK.md cmd/serve/kiosk.service "$here/README.txt" "$work/share/"
for target in "${targets[@]}"; do
	os=${target%/*} arch=${target#*/}
	folder=$work/mrprism-$version-$os-$arch
	[ "$os" != linux ] || deb "$arch" "$folder"
	python3 "$here/wheel.py" "$version" "$target" "$folder"/mrprism-segment* "$work/share/LICENSES.txt" "$out"
	cp -r "$work/share/"* "$folder/"
	pack "$os" "$arch" "$folder"
	rm -r "$folder"
done
bill
cp "$work/share/LICENSES.txt" "$out/"
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS && ls -l)
