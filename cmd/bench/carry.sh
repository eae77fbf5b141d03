#!/bin/sh
# Fills a folder with all that card.sh needs on a machine without Go and without a network, in parts
# that can be carried one by one:
#   cmd/bench/carry.sh OUT
# Needs apt (for Chromium without a window and the Vulkan loader) and npm (`make peers`, Dawn's library);
# `make setup` installs it. OUT/1 is enough for all that needs no browser, and the others for that, with at
# most SIZE MiB each (33: with the sources, 30 MiB, they stay below 64). CONFIGS are those whose ONNX files
# go along (compact; those of paper have 240 MiB). On the other machine, in the sources and with OUT/1:
#   . OUT/1/unpack.sh && cmd/bench/card.sh /tmp/card results
# and with all parts, if the machine has no longer what OUT/1 left in /tmp:
#   . OUT/1/unpack.sh && . OUT/2/unpack.sh && cmd/bench/card.sh /tmp/card results
set -e
out=$(mkdir -p "${1:?usage: carry.sh OUT}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=${WORK:-$(mktemp -d)} && mkdir -p "$work" && trap '[ -n "$WORK" ] || rm -rf "$work"' EXIT
card=$work/card && mkdir "$card" "$card/lib" "$card/peers"

make site peers && shaders/gpu/dawn/fetch.sh
families=$(ls shaders/*/*.wgsl | xargs -n 1 dirname | sort -u | sed 's|^|./|')
go test -trimpath -ldflags=-s -c -o "$card/" ./shaders $families ./site
go build -trimpath -ldflags=-s -o "$card/" ./cmd/bench ./cmd/segment ./cmd/train
go build -C cmd/study -trimpath -ldflags=-s -o "$card/bench-peers" ./peers
go run ./cmd/bench pack "$card/packed"
for config in ${CONFIGS:-compact}; do go run -C cmd/study ./peers pack "$card/packed" -config $config; done
modules=node_modules/onnxruntime-web
mkdir -p "$card/peers/$modules/dist"
cp build/peers/$modules/package.json "$card/peers/$modules/"
cp build/peers/$modules/dist/ort.webgpu.bundle.min.mjs build/peers/$modules/dist/*asyncify.wasm build/peers/$modules/dist/*asyncify.mjs "$card/peers/$modules/dist/"
cp "$(find "$HOME/.cache/mrprism/dawn" -name '*.so' | head -1)" "$card/lib/"

(cd "$work" && apt-get download chromium-headless-shell chromium-common libvulkan1 && for package in *.deb; do dpkg -x "$package" unpacked; done)
shell=$(find "$work/unpacked" -type f -name '*headless*shell' -size +1M)
mv "$(dirname "$shell")" "$card/chromium" && rm -f "$card"/chromium/libVkLayer* # which checks others' use of Vulkan
cp -L "$work"/unpacked/usr/lib/*/libvulkan.so.1 "$card/lib/"
(cd "$card" && find . -type f | grep -E '^./(bench|bench-peers|train|[a-z]*\.test|lib/.*)$' | grep -v site.test) >"$work/first"
# the libraries that the browser loads, but for the C library, which belongs to the machine
ldd "$card/chromium/$(basename "$shell")" | awk '$3 ~ /^\// { print $3 }' |
	grep -Ev '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$card/lib/"
(cd "$card" && find . -type f) | grep -vxFf "$work/first" >"$work/rest"
cat >"$card/environment" <<ENVIRONMENT
here=/tmp/card
export LD_LIBRARY_PATH=\$here/lib CHROMIUM=\$here/chromium/$(basename "$shell") MRPRISM_DAWN_LIB=\$(ls \$here/lib/*webgpu*.so | head -1)
[ -e /etc/vulkan/icd.d ] || [ -e /usr/share/vulkan/icd.d ] || export VK_DRIVER_FILES=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
ENVIRONMENT
echo ./environment >>"$work/first"

# The programs hold the shipped weights, and so do the sources: zstd takes them from there.
cat weights/shipped/*.safetensors >"$work/weights"
pack() { # pack LIST LEVEL: the files, compressed
	tar cf "$work/tar" --transform='s|^\.|card|' -C "$card" -T "$1" && zstd -q "-$2" -T0 --long=29 --patch-from="$work/weights" -f "$work/tar" -o "$1.zst"
}
pack "$work/first" 19 && pack "$work/rest" 9 # the second is thrice as large
rm -rf "$out"/[0-9]* && mkdir -p "$out/1/lib"
mv "$work/first.zst" "$out/1/part"
cp "$(command -v zstd)" "$out/1/"
ldd "$out/1/zstd" | awk '$3 ~ /\/lib(z|lzma|lz4)\./ { print $3 }' | xargs -I{} cp -L {} "$out/1/lib/"
split -b "${SIZE:-33}m" --numeric-suffixes=2 -a 1 "$work/rest.zst" "$work/part"
for part in "$work"/part[2-9]; do mkdir "$out/${part#"$work"/part}" && mv "$part" "$out/${part#"$work"/part}/part"; done
cat >"$out/1/unpack.sh" <<'UNPACK'
at=$(dirname "${BASH_SOURCE:-$0}")/..
unpack() { # unpack PART...
	cat "$@" >/tmp/parts && LD_LIBRARY_PATH=$at/1/lib "$at/1/zstd" -q -d -f --long=29 --patch-from=/tmp/weights /tmp/parts -o /tmp/tar && tar xf /tmp/tar -C /tmp
}
cat weights/shipped/*.safetensors >/tmp/weights && unpack "$at"/1/part && . /tmp/card/environment
UNPACK
echo 'unpack "$at"/[2-9]/part && . /tmp/card/environment' >"$out/2/unpack.sh"
du -m "$out"/*
