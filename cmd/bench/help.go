//go:build !js

package main

const intro = `bench - how fast the network is here, and how much GPU memory it takes

usage: bench [-weights NAME|FILE | -config compact|paper|tiny] [flags]
       bench -peers FOLDER [-train] [flags]       beside ONNX Runtime or PyTorch

bench runs the network as "segment" does: the encoder once, then Rec0 to Rec3 with each mask read back, then the raters'
labels. "Four passes" is all of that; models that also look at the mirror image take twice that time.
  bench                                     the compact network on the best device

The first run is not measured. Then bench prints the median of -n runs with the fastest and the slowest. "Compile" is the
time from nothing to a network that can run: graphs, memory, pipelines. Times do not depend on the weights: without
-weights they are random.

First come the ceilings of the device: multiply-adds in registers (on the processor in all threads and vectors, in
float32 and int8), a copy of 64 MiB, and dispatches of one invocation.

-kernels times each kernel of the network alone, in many copies one after the other. The table has the time of all its
dispatches in one run, its operations (a multiply-add is two) and the bytes of its tensors, and two shares: of the
multiply-adds ("of adds"), and the larger of that and the share of the bandwidth ("of ceiling"). Caches can raise the
latter above 100 %.

-compare prints ratios now/base to an earlier -json: of the medians, and the range that both spreads allow.
-precision f16 or int8 runs in turn with f32, and bench also prints ratios to f32.
-train also measures whole training steps (Algorithm 1: forward, backward, Adam).
-browser measures in a worker of headless Chromium, on its software adapter or with -device processor. It compiles this
program to WebAssembly, which needs Go and a folder inside MrPrism's sources.

-peers runs ONNX Runtime with the same network, weights and image, in turn with ours: in node with WebGPU on the same
adapter, or, if ours is the processor, on the CPU with one thread and with all; with -browser in the same Chromium, its
WebGPU beside ours, and its WebAssembly of one thread and of two beside our processor. Times are from the image to all
results in memory. bench compares the results before it times them. Ratios are of the medians, and from the least to the
most of neighbouring runs. It needs node, Go, and a folder inside MrPrism's sources; "make bench-peers" installs the rest.

-peers with -train runs PyTorch's training step on the CPU (cmd/bench/peers/pytorch.py, Debian's python3-torch) from the
same weights, images, labels and draws, with as many threads, in turn with our processor: at 128² and 256² without -side.
bench compares loss and gradients first. Only our step averages the weights. PyTorch's speed depends on its BLAS, which
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
