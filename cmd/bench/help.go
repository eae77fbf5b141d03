//go:build !js

package main

const intro = `bench - how fast the network is here, and how much GPU memory it takes

usage: bench [-weights NAME|FILE | -config compact|mobile|paper|tiny] [flags] [REPORT]
       bench devices                 lists what can compute here
       bench pack FOLDER [flags]     for a machine without Go: writes what -browser makes with Go into FOLDER, which has to be called
                                     "packed" and lie beside the program

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

With a REPORT that -json wrote earlier, bench prints ratios now/earlier: of the medians, and the range that the fastest and
slowest runs of both reports allow.
-precision f16 or int8 measures f32 in turn with it and also prints ratios to f32.
-train also measures whole training steps (Algorithm 1: forward, backward, Adam).
-browser measures in a worker of headless Chromium, on its software adapter or with -device processor; with
CHROMIUM_ADAPTER=vulkan in the environment, on the machine's card. It compiles this program to WebAssembly, which needs Go
and the sources that this program was built from, or the folder of bench pack.
`

const examples = `
examples:
  bench -device wgpu -side 512 -n 9
  bench -train -batch 4 -side 128           and a training step
  bench -weights fundus -browser            a shipped model, in Chromium
  bench -kernels -config paper              which kernels take the time
  bench -json base.json && bench base.json
  bench devices                             what can compute here, and why the others cannot

exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C
`
