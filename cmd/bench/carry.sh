#!/bin/sh
# Fills a folder with all that card.sh needs on a machine without Go and without a network, in parts
# that can be carried one by one:
#   cmd/bench/carry.sh OUT
# Needs apt (for Chromium without a window and the Vulkan loader), npm (`make peers`) and Dawn's library
# (`make setup`). OUT/1, OUT/2 … have at most SIZE MiB each (60). CONFIGS are those whose ONNX files
# go along (compact; those of paper have 240 MiB). On the other machine, where all the
# parts and the sources are:
#   cat OUT/*/part | tar xzf - -C /tmp && . /tmp/card/environment && cmd/bench/card.sh /tmp/card results
set -e
out=$(mkdir -p "${1:?usage: carry.sh OUT}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=${WORK:-$(mktemp -d)} && mkdir -p "$work" && trap '[ -n "$WORK" ] || rm -rf "$work"' EXIT
card=$work/card && mkdir "$card" "$card/lib" "$card/peers"

export GOEXPERIMENT="${GOEXPERIMENT:-simd}"
make site peers
families=$(ls shaders/*/*.wgsl | xargs -n 1 dirname | sort -u | sed 's|^|./|')
go test -trimpath -ldflags=-s -c -o "$card/" ./shaders $families ./site
go build -trimpath -ldflags=-s -o "$card/" ./cmd/bench ./cmd/segment ./cmd/train
for config in ${CONFIGS:-compact}; do "$card/bench" -pack -packed "$card/packed" -config $config; done
modules=node_modules/onnxruntime-web
mkdir -p "$card/peers/$modules/dist"
cp build/peers/$modules/package.json "$card/peers/$modules/"
cp build/peers/$modules/dist/ort.webgpu.bundle.min.mjs build/peers/$modules/dist/*asyncify.wasm build/peers/$modules/dist/*asyncify.mjs "$card/peers/$modules/dist/"
cp "$(find "$HOME/.cache/mrprism/dawn" -name '*.so' | head -1)" "$card/lib/"

(cd "$work" && apt-get download chromium-headless-shell chromium-common libvulkan1 && for package in *.deb; do dpkg -x "$package" unpacked; done)
shell=$(find "$work/unpacked" -type f -name '*headless*shell' -size +1M)
mv "$(dirname "$shell")" "$card/chromium" && rm -f "$card"/chromium/libVkLayer* # which checks others' use of Vulkan
cp -L "$work"/unpacked/usr/lib/*/libvulkan.so.1 "$card/lib/"
# the libraries that the browser loads, but for the C library, which belongs to the machine
ldd "$card/chromium/$(basename "$shell")" | awk '$3 ~ /^\// { print $3 }' |
	grep -Ev '/(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[^/]*)\.so' | xargs -I{} cp -L {} "$card/lib/"
cat >"$card/environment" <<ENVIRONMENT
here=/tmp/card
export LD_LIBRARY_PATH=\$here/lib CHROMIUM=\$here/chromium/$(basename "$shell") MRPRISM_DAWN_LIB=\$(ls \$here/lib/*webgpu*.so | head -1)
[ -e /etc/vulkan/icd.d ] || [ -e /usr/share/vulkan/icd.d ] || export VK_DRIVER_FILES=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
ENVIRONMENT
rm -rf "$out"/[0-9]*
tar czf - -C "$work" card | split -b "${SIZE:-60}m" --numeric-suffixes=1 -a 1 - "$work/part"
for part in "$work"/part[0-9]; do mkdir "$out/${part#"$work"/part}" && mv "$part" "$out/${part#"$work"/part}/part"; done
du -m "$out"/*
