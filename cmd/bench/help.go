//go:build !js

package main

const intro = `bench - how fast the network is here, and how much GPU memory it takes

usage: bench [-weights NAME|FILE | -config compact|mobile|paper|tiny] [flags]
       bench -peers FOLDER [-train] [flags]       beside ONNX Runtime or PyTorch

bench runs the network as "segment" does: the encoder once, then Rec0 to Rec3 with each mask read back, then the raters'
labels. "Four passes" is all of that; models that also look at the mirror image take twice that time.
  bench                                     the compact network on the best device
Of a network that takes marks, -config NAME-evidence, bench also measures new marks: two passes around them, each mask
read back, and the raters' labels.

The first run is not measured. Then bench prints the median of -n runs with the fastest and the slowest. "Compile" is the
time from nothing to a network that can run: graphs, memory, pipelines. Times do not depend on the weights: without
-weights they are random.

The first lines are the ceilings of the device: multiply-adds in registers (on the processor in all threads and vectors,
in float32 and int8), a copy of 64 MiB, and dispatches of one invocation.

-kernels times each kernel of the network alone, in many copies one after the other. The table has the time of all its
dispatches in one run, its operations (a multiply-add is two) and the bytes of its tensors. "Of adds" is its share of the
ceiling of multiply-adds. "Of ceiling" is that share or the share of the bandwidth, whichever is larger. Caches can raise
it above 100 %. On Dawn it also runs the whole list -n times, and reads the device's clock before and after each dispatch.
"In place" is the time of a kernel's dispatches in the fastest of these runs; what the list takes beyond its dispatches, the
device waits. Dawn rounds the clock to 0.1 ms, unless MRPRISM_DAWN_TOGGLES=-timestamp_quantization is in the environment.

-compare prints ratios now/base to an earlier report: of the medians, and the range that the fastest and slowest runs of
both reports allow.
-precision f16 or int8 measures f32 in turn with it and also prints ratios to f32.
-train also measures whole training steps (Algorithm 1: forward, backward, Adam).
-browser measures in a worker of headless Chromium, on its software adapter or with -device processor; with
CHROMIUM_ADAPTER=vulkan in the environment, on the machine's card. It compiles this program to WebAssembly, which needs Go
and the sources that this program was built from. -pack -packed FOLDER writes there what -browser and -peers make so, for the
network of the same flags; with -packed FOLDER, a machine without Go takes it from there.

-peers runs ONNX Runtime in turn with our program, with the same network, weights and image:
  on a GPU             in node, with WebGPU on the same adapter
  -device processor    in node, on the CPU with one thread and with all
  -browser             in the same Chromium: its WebGPU beside ours, its WebAssembly beside our processor, with one thread
                       and with two. On WebGPU it also replays a recording (its graph capture)
bench first compares the results. Times are from the image to all results in memory. Ratios are of the medians; "from" and
"to" are the smallest and the largest ratio of neighbouring runs. This needs node, Go, and the sources that
this program was built from; "make bench-peers" installs the rest.

-peers -train runs PyTorch's training step (cmd/bench/peers/pytorch.py, Debian's python3-torch) in turn with our step, both
on the CPU with as many threads, from the same weights, images, labels and draws. Without -side it takes 128² and 256².
bench first compares loss and gradients. Only our step averages the weights. PyTorch's speed depends on its BLAS, which
bench names: install libopenblas0-openmp.
`

const examples = `
examples:
  bench -device wgpu -side 512 -n 9
  bench -train -batch 4 -side 128           and a training step (-recompute: in less memory)
  bench -weights fundus -browser            a shipped model, in Chromium
  bench -kernels -config paper              which kernels take the time
  bench -peers build/peers -train -device processor
  bench -json base.json && bench -compare base.json
  bench -devices                            what can compute here, and why the others cannot

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`
