#!/bin/sh
# fetch.sh [SYSTEM FOLDER]
# Fetches the pinned Dawn library (Chrome's WebGPU, Apache-2.0) from the npm package bun-webgpu,
# checks its hash, and puts it into .dawn at the root of the project, or for another system into a
# folder. If it is there already, nothing happens. Needs npm, tar and openssl.
set -eu

root=$(cd "$(dirname "$0")/../../../.." && pwd)
folder=${2:-$root/.dawn}

case "${1:-$(uname -s)-$(uname -m)}" in
Linux-x86_64)
	package=bun-webgpu-linux-x64@0.1.7 library=libwebgpu_wrapper.so
	integrity=UEP7UZdEhx9otvkZczjsszL8ZVlrODANQvgl+C88/bNVmxDoFi7w1fWzGi1sZyakiETjmtFDq2/xCLhbSZxjqw==
	;;
Darwin-arm64)
	package=bun-webgpu-darwin-arm64@0.1.5 library=libwebgpu_wrapper.dylib
	integrity=qM7W5IaFpWYGPDcNiQ8DOng3noQ97gxpH2MFH1mGsdKwI0T4oy++egSh5Z7s6AQx8WKgc9GzAsTUM4KZkFdacw==
	;;
Darwin-x86_64)
	package=bun-webgpu-darwin-x64@0.1.5 library=libwebgpu_wrapper.dylib
	integrity=oVoIsme27pcXB68YxnQSAgdNGCa4A3PGWYIBUewOh9VnJaoik4JenGb5Yy+svGE+ETFhQXV9nhHqgMPsDRrO6A==
	;;
Windows-x86_64 | MINGW*-x86_64 | MSYS*-x86_64)
	package=bun-webgpu-win32-x64@0.1.5 library=webgpu_wrapper.dll
	integrity=zvnUl4EAsQbKsmZVu+lEJcH8axQ7MiCfqg2OmnHd6uw1THABmHaX0GbpKiHshdgadNN2Nf+4zDyTJB5YMcAdrA==
	;;
*)
	echo "dawn: no prebuilt library for $(uname -s) on $(uname -m): name your own with -dawn-lib or MRPRISM_DAWN_LIB," \
		"or use -device wgpu" >&2
	exit 1
	;;
esac

if [ -f "$folder/$library" ] && [ "$(cat "$folder/integrity" 2>/dev/null)" = "$integrity" ]; then
	exit 0
fi
for tool in npm tar openssl; do
	command -v "$tool" >/dev/null || { echo "dawn: $tool is needed to fetch $package" >&2; exit 1; }
done

mkdir -p "$folder"
temporary=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT TERM
echo "dawn: fetching $package"
(cd "$temporary" && npm pack --silent "$package" >/dev/null)
archive=$(echo "$temporary"/*.tgz)
found=$(openssl dgst -sha512 -binary "$archive" | openssl base64 -A)
if [ "$found" != "$integrity" ]; then
	echo "dawn: $package has sha512-$found, expected sha512-$integrity: not unpacked" >&2
	exit 1
fi
tar -xzf "$archive" -C "$temporary"
cp "$temporary/package/LICENSE" "$folder/LICENSE"
mv -f "$temporary/package/$library" "$folder/$library"
echo "$integrity" >"$folder/integrity"
echo "dawn: $folder/$library"
