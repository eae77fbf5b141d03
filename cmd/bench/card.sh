#!/bin/sh
# Measures everything on a discrete GPU: whether kernels are right there, all times, and PyTorch's
# times. Here:
#   make build && go test -c -o build/ ./shaders/... && cmd/bench/card.sh build card
# On a machine that has only BIN, a folder with the programs, the tests and Dawn's library:
#   cmd/bench/card.sh BIN OUT [python3]
# OUT receives a .txt for each step, and .json reports for bench -compare. If a step fails or takes
# longer than LIMIT seconds (180), the other steps still run, and the last line names it. Missing
# programs are skipped. DEVICE computes (dawn), CONFIGS are the configurations to measure, RUNS is the
# number of runs. TORCH are more flags of pytorch.py: compiling takes minutes, and TORCH=--no-compile
# leaves it out. ONNX Runtime is measured where `make peers` has put it in BIN/peers.
bin=$(cd "${1:?usage: card.sh BIN OUT [python3]}" && pwd) && mkdir -p "${2:?usage: card.sh BIN OUT [python3]}" && out=$(cd "$2" && pwd) || exit 2
python=${3:-python3} device=${DEVICE:-dawn}
here=$(cd "$(dirname "$0")" && pwd)
rm -f "$out/failed"

step() { # step NAME PROGRAM ARGUMENTS
	name=$1; program=$2; shift 2
	[ -x "$bin/$program" ] && program=$bin/$program
	command -v "$program" >/dev/null || { echo "-- $name: no $program"; return; }
	echo "-- $name: $program $*"
	began=$(date +%s)
	timeout "${LIMIT:-180}" "$program" "$@" >"$out/$name.txt" 2>&1 || { echo "$name" >>"$out/failed"; tail -n 3 "$out/$name.txt"; }
	echo "   $name: $(($(date +%s) - began)) s"
}

step devices bench -devices
for tests in "$bin"/*.test; do # of each package in its folder, at once: they measure no times
	[ -e "$tests" ] || continue
	family=$(basename "$tests" .test)
	[ "$family" = shaders ] && folder=$here/../../shaders || folder=$here/../../shaders/$family
	(cd "$folder" && step "kernels-right-$family" "$family.test" -test.short) &
done
wait
cd "$here" || exit 2
for config in ${CONFIGS:-compact-steered paper-steered}; do
	set -- -device "$device" -config "$config" -n "${RUNS:-9}"
	step "$config" bench "$@" -train -kernels -json "$out/$config.json"
	step "$config-f16" bench "$@" -precision f16
	step "$config-int8" bench "$@" -precision int8
	step "$config-train-f16" bench "$@" -precision f16 -train
	step "$config-pytorch" "$python" peers/pytorch.py --config "${config%-steered}" --runs "${RUNS:-9}" --json "$out/$config-pytorch.json" ${TORCH:-}
	[ -d "$bin/peers" ] && step "$config-onnxruntime" bench -device "$device" -config "${config%-steered}" -n "${RUNS:-9}" -peers "$bin/peers"
done
[ -e "$out/pictures/dataset.json" ] || { rm -rf "$out/pictures"; step pictures train synthetic one-expert "$out/pictures" -images 5; }
for model in fundus cells newborn-brain; do # a GPU that computes wrongly fails the model's proof
	step "$model" segment -device "$device" -weights "$model" -out "$out/$model" "$out"/pictures/images/*
done
[ ! -e "$out/failed" ] || { echo "failed:" $(cat "$out/failed") "(see $out)"; exit 1; }
