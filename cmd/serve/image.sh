#!/bin/sh
# image.sh FOLDER TAG builds the image of the Dockerfile and program in FOLDER with docker or podman.
for engine in docker podman; do
	if "$engine" info >/dev/null 2>&1; then
		exec "$engine" build --tag "$2" "$1"
	fi
done
echo "make image: neither docker nor podman answers here; start one, or build elsewhere from $1, which has all that the image needs" >&2
exit 1
