#!/bin/sh
# Measures everything on a discrete GPU: whether kernels are right there, all times, and the times of
# PyTorch and ONNX Runtime. Here:
#   make build && go build -C cmd/study -o ../../build/bench-peers ./peers && go test -c -o build/ ./shaders/... && cmd/bench/card.sh build card
# On a machine that has only BIN, which carry.sh has filled, and the sources:
#   cmd/bench/card.sh BIN OUT [python3]
# OUT receives a .txt for each step, and .json reports for bench. If a step fails or takes
# longer than LIMIT seconds (180), the other steps still run, and the last line names it. Missing
# programs are skipped. What decides most comes first, and what compiles for minutes last.
# In the environment: DEVICE computes (dawn), CONFIGS are the configurations, SIDES and BATCHES what a
# training step takes, RUNS is the number of runs, STEPS a pattern of the steps to run, in grep's -E.
# Chromium computes on the machine's own adapter; CHROMIUM_ADAPTER= has it take its software adapter.
bin=$(cd "${1:?usage: card.sh BIN OUT [python3]}" && pwd) && mkdir -p "${2:?usage: card.sh BIN OUT [python3]}" && out=$(cd "$2" && pwd) || exit 2
python=${3:-python3} device=${DEVICE:-dawn} sides=${SIDES:-128 256} batches=${BATCHES:-1 4 16 32} runs=${RUNS:-9}
export CHROMIUM_ADAPTER="${CHROMIUM_ADAPTER-vulkan}"
here=$(cd "$(dirname "$0")" && pwd)
commas() { echo "$*" | tr ' ' ,; }
rm -f "$out/failed"

step() { # step NAME PROGRAM ARGUMENTS
	name=$1; program=$2; shift 2
	echo "$name" | grep -Eq "${STEPS:-.}" || return
	[ -x "$bin/$program" ] && program=$bin/$program
	command -v "$program" >/dev/null || { echo "-- $name: no $program"; return; }
	echo "-- $name: $program $*"
	began=$(date +%s)
	timeout "${LIMIT:-180}" "$program" "$@" >"$out/$name.txt" 2>&1 || { echo "$name" >>"$out/failed"; tail -n 3 "$out/$name.txt"; }
	echo "   $name: $(($(date +%s) - began)) s"
}

step devices bench devices
for tests in "$bin"/*.test; do # of each package in its folder, at once: they measure no times
	family=$(basename "$tests" .test)
	case $family in
	'*' | site) continue ;;
	shaders) folder=$here/../../shaders ;;
	*) folder=$here/../../shaders/$family ;;
	esac
	[ -d "$folder" ] && (cd "$folder" && step "kernels-right-$family" "$family.test" -test.short) &
done
wait
cd "$here" || exit 2
for config in ${CONFIGS:-compact-steered paper-steered}; do
	plain=${config%-steered}
	set -- -device "$device" -config "$config" -n "$runs"
	MRPRISM_DAWN_TOGGLES=-timestamp_quantization step "$config" bench "$@" -train -kernels -json "$out/$config.json"
	for side in $sides; do
		for batch in $batches; do
			step "$config-$side-$batch" bench "$@" -train -side "$side" -batch "$batch" -json "$out/$config-$side-$batch.json"
		done
	done
	step "$config-pytorch" "$python" ../study/peers/pytorch.py --config "$plain" --runs "$runs" --side "$(commas $sides)" --batch "$(commas $batches)" \
		--modes eager,graphed --ways "${WAYS:-f32,tf32,bf16,f32-last,bf16-last}" --json "$out/$config-pytorch.json"
	onnx=$bin/peers # where ONNX Runtime and its files are
	[ ! -d "$bin/packed" ] || [ -e "$bin/packed/$plain-256-all.onnx" ] || onnx=
	[ -d "$onnx" ] && step "$config-onnxruntime-page" bench-peers "$bin/peers" -browser -config "$plain" -n "$runs"
	[ -d "$onnx" ] && command -v node >/dev/null && step "$config-onnxruntime" bench-peers "$bin/peers" -device "$device" -config "$plain" -n "$runs"
	step "$config-browser" bench -browser -config "$config" -n "$runs" -train -json "$out/$config-browser.json"
	for toggles in none disable_robustness skip_validation disable_workgroup_init disable_polyfills_on_integer_div_and_mod; do
		MRPRISM_DAWN_TOGGLES=$toggles step "$config-toggles-$toggles" bench "$@" -train
	done
	step "$config-f16" bench "$@" -precision f16
	step "$config-int8" bench "$@" -precision int8
	step "$config-train-f16" bench "$@" -precision f16 -train
done
# The page: its sample, its proof of the model, and the same mask as the native program's. The log
# has the times.
(cd "$here/../../site" && step page site.test -test.v -test.run TestSampleWithShippedWeights)
[ -e "$out/pictures/dataset.json" ] || { rm -rf "$out/pictures"; step pictures train synthetic one-expert "$out/pictures" -images 5; }
for model in fundus cells newborn-brain; do # a GPU that computes wrongly fails the model's proof
	step "$model" segment -device "$device" -weights "$model" -out "$out/$model" "$out"/pictures/images/*
done
for config in ${CONFIGS:-compact-steered paper-steered}; do
	LIMIT=${LIMIT:-400} step "$config-pytorch-compiled" "$python" ../study/peers/pytorch.py --config "${config%-steered}" --runs "$runs" --batch 4,32 \
		--modes compiled,reduced --ways f32,bf16 --json "$out/$config-pytorch-compiled.json"
done
[ ! -e "$out/failed" ] || { echo "failed:" $(cat "$out/failed") "(see $out)"; exit 1; }
