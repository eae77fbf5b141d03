// Rounding to int8, for convolutions in int8. A value is a whole number of steps from −127 to 127.
// A word has four values, the first in the low byte.
//
//   quantize         q = clamp(round(x / step)), of an activation (…, C), one step for all; ties go
//                    to the even neighbour. An invocation has a word; of the last of a pixel, the
//                    channels from C on are zero.
//   quantize_scale   scale[o] = max |w[:, o]| / 127, 1 where all are zero: the step of each output
//                    of a weight. An invocation has an output.
//   quantize_weight  q[t, k / 4, o, k % 4] = w[t, k, o] / scale[o], of a weight (taps, Cin, Cout),
//                    zero from Cin on. An invocation has a word.
//
// Header (go doc ./shaders): Invocation.

const SIZE: u32 = 64u;

struct Params {
  words: u32,   // of q
  inputs: u32,  // C, Cin
  outputs: u32, // Cout
  rows: u32,    // taps Cin
  factor: f32,  // 1 / step
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> q: array<u32>;

@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read_write> scale: array<f32>;

@group(0) @binding(2) var<storage, read> made_scale: array<f32>;
@group(0) @binding(3) var<storage, read_write> made: array<u32>;

fn packed(v: vec4<i32>) -> u32 {
  let bytes = (bitcast<vec4<u32>>(v) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  return bytes.x | bytes.y | bytes.z | bytes.w;
}

fn rounded(v: vec4<f32>) -> u32 {
  return packed(vec4<i32>(clamp(round(v), vec4<f32>(-127.0), vec4<f32>(127.0))));
}

@compute @workgroup_size(SIZE)
fn quantize(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.words) { return; }
  let words = (params.inputs + 3u) / 4u; // of a pixel
  let first = i % words * 4u;
  let from_x = i / words * params.inputs + first;
  let there = vec4<u32>(first, first + 1u, first + 2u, first + 3u) < vec4<u32>(params.inputs);
  let last = select(vec4<u32>(), vec4<u32>(0u, 1u, 2u, 3u), there);
  let four = vec4<f32>(x[from_x], x[from_x + last.y], x[from_x + last.z], x[from_x + last.w]);
  q[i] = rounded(select(vec4<f32>(), four * params.factor, there));
}

@compute @workgroup_size(SIZE)
fn quantize_scale(id: Invocation) {
  let o = number(id, SIZE);
  if (o >= params.outputs) { return; }
  var largest = 0.0;
  for (var row = 0u; row < params.rows; row++) {
    largest = max(largest, abs(w[row * params.outputs + o]));
  }
  scale[o] = select(largest / 127.0, 1.0, largest == 0.0);
}

@compute @workgroup_size(SIZE)
fn quantize_weight(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.words) { return; }
  let o = i % params.outputs;
  let words = (params.inputs + 3u) / 4u; // of a tap
  let k = i / params.outputs % words * 4u;
  let from_w = (i / params.outputs / words * params.inputs + k) * params.outputs + o;
  let there = vec4<u32>(k, k + 1u, k + 2u, k + 3u) < vec4<u32>(params.inputs);
  let last = select(vec4<u32>(), vec4<u32>(0u, 1u, 2u, 3u), there) * params.outputs;
  let four = vec4<f32>(w[from_w], w[from_w + last.y], w[from_w + last.z], w[from_w + last.w]);
  made[i] = rounded(select(vec4<f32>(), four / made_scale[o], there));
}
