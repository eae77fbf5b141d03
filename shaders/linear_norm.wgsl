// A linear map, a residual and the layer normalisation of the sum, at inference: u = x w + bias + residual, y = (u - μ) r scale + shift, with
// μ and r of every row of u as in layer_norm.wgsl. A workgroup computes 8 whole rows; an invocation keeps one quad of outputs of each.
// Inputs and outputs are multiples of four.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const LANES: u32 = 8u; // outputs / 4
const QUADS: u32 = 64u; // of 8 rows

struct Params {
  rows: u32,
  inputs: u32,
  outputs: u32,
  has_bias: u32,
  has_residual: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real4>;
@group(0) @binding(2) var<storage, read> w: array<real4>;
@group(0) @binding(3) var<storage, read> bias: array<real4>;
@group(0) @binding(4) var<storage, read> residual: array<real4>;
@group(0) @binding(5) var<storage, read> scale: array<real4>;
@group(0) @binding(6) var<storage, read> shift: array<real4>;
@group(0) @binding(7) var<storage, read_write> y: array<real4>;

// of each quad, of row after row: its mean and its squared distances from it, summed; then, of each row, μ and r
var<workgroup> quads: array<vec2<f32>, QUADS>;
var<workgroup> moments: array<vec2<f32>, 8>;

// started is what the products of a row are added to.
fn started(row: u32, lane: u32) -> vec4<f32> {
  var v = vec4<f32>();
  if (params.has_bias == 1u) { v = vec4<f32>(bias[lane]); }
  if (params.has_residual == 1u) { v += vec4<f32>(residual[row * LANES + lane]); }
  return v;
}

fn product(a: vec4<f32>, w0: vec4<f32>, w1: vec4<f32>, w2: vec4<f32>, w3: vec4<f32>) -> vec4<f32> {
  return a.x * w0 + a.y * w1 + a.z * w2 + a.w * w3;
}

fn keep_moments(row: u32, lane: u32, v: vec4<f32>) {
  let m = 0.25 * (v.x + v.y + v.z + v.w);
  let d = v - vec4<f32>(m);
  quads[row * LANES + lane] = vec2<f32>(m, dot(d, d));
}

// joined are μ and r of a row. Its quads are joined one by one, as Chan, Golub and LeVeque (1983) join the moments of parts: no difference of
// large sums.
fn joined(row: u32) -> vec2<f32> {
  var m = 0.0;
  var squares = 0.0;
  for (var l = 0u; l < LANES; l++) {
    let share = 1.0 / f32(l + 1u);
    let quad = quads[row * LANES + l];
    let d = quad.x - m;
    m += d * share;
    squares += quad.y + d * d * (4.0 * f32(l) * share);
  }
  return vec2<f32>(m, inverseSqrt(squares / f32(params.outputs) + params.eps));
}

fn store(first: u32, row: u32, lane: u32, v: vec4<f32>) {
  if (first + row < params.rows) {
    let m = moments[row];
    y[(first + row) * LANES + lane] = real4((v - vec4<f32>(m.x)) * m.y * vec4<f32>(scale[lane]) + vec4<f32>(shift[lane]));
  }
}

@compute @workgroup_size(LANES)
fn linear_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) lane: u32) {
  let first = (group.y * groups.x + group.x) * 8u;
  let last = params.rows - 1u;
  let r0 = min(first, last);
  let r1 = min(first + 1u, last);
  let r2 = min(first + 2u, last);
  let r3 = min(first + 3u, last);
  let r4 = min(first + 4u, last);
  let r5 = min(first + 5u, last);
  let r6 = min(first + 6u, last);
  let r7 = min(first + 7u, last);
  var s0 = started(r0, lane);
  var s1 = started(r1, lane);
  var s2 = started(r2, lane);
  var s3 = started(r3, lane);
  var s4 = started(r4, lane);
  var s5 = started(r5, lane);
  var s6 = started(r6, lane);
  var s7 = started(r7, lane);
  let inputs = params.inputs / 4u;
  for (var k = 0u; k < inputs; k++) {
    let from_w = 4u * k * LANES + lane;
    let w0 = vec4<f32>(w[from_w]);
    let w1 = vec4<f32>(w[from_w + LANES]);
    let w2 = vec4<f32>(w[from_w + 2u * LANES]);
    let w3 = vec4<f32>(w[from_w + 3u * LANES]);
    s0 += product(vec4<f32>(x[r0 * inputs + k]), w0, w1, w2, w3);
    s1 += product(vec4<f32>(x[r1 * inputs + k]), w0, w1, w2, w3);
    s2 += product(vec4<f32>(x[r2 * inputs + k]), w0, w1, w2, w3);
    s3 += product(vec4<f32>(x[r3 * inputs + k]), w0, w1, w2, w3);
    s4 += product(vec4<f32>(x[r4 * inputs + k]), w0, w1, w2, w3);
    s5 += product(vec4<f32>(x[r5 * inputs + k]), w0, w1, w2, w3);
    s6 += product(vec4<f32>(x[r6 * inputs + k]), w0, w1, w2, w3);
    s7 += product(vec4<f32>(x[r7 * inputs + k]), w0, w1, w2, w3);
  }
  keep_moments(0u, lane, s0);
  keep_moments(1u, lane, s1);
  keep_moments(2u, lane, s2);
  keep_moments(3u, lane, s3);
  keep_moments(4u, lane, s4);
  keep_moments(5u, lane, s5);
  keep_moments(6u, lane, s6);
  keep_moments(7u, lane, s7);
  workgroupBarrier();
  for (var row = lane; row < 8u; row += LANES) { moments[row] = joined(row); }
  workgroupBarrier();
  store(first, 0u, lane, s0);
  store(first, 1u, lane, s1);
  store(first, 2u, lane, s2);
  store(first, 3u, lane, s3);
  store(first, 4u, lane, s4);
  store(first, 5u, lane, s5);
  store(first, 6u, lane, s6);
  store(first, 7u, lane, s7);
}
