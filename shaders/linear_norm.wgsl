// A linear map, a residual and the layer normalisation of the sum, at inference: u = x w + bias + residual, y = (u - μ) r scale + shift, with
// μ and r of every row of u as in layer_norm.wgsl. Rows are computed in blocks of 8, a workgroup's invocations as many
// blocks as they suffice for: an invocation keeps one quad of outputs of each of its block's rows. Inputs and outputs are multiples of four, outputs
// from 32 to 4 SIZE.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const SIZE: u32 = 64u;
const QUADS: u32 = 512u; // 8 SIZE

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

// of each quad, of row after row of block after block: its mean and its squared distances from it, summed; then, of each row, μ and r
var<workgroup> quads: array<vec2<f32>, QUADS>;
var<workgroup> moments: array<vec2<f32>, SIZE>;

// started is what the products of a row are added to.
fn started(row: u32, lane: u32, lanes: u32) -> vec4<f32> {
  var v = vec4<f32>();
  if (params.has_bias == 1u) { v = vec4<f32>(bias[lane]); }
  if (params.has_residual == 1u) { v += vec4<f32>(residual[row * lanes + lane]); }
  return v;
}

fn product(a: vec4<f32>, w0: vec4<f32>, w1: vec4<f32>, w2: vec4<f32>, w3: vec4<f32>) -> vec4<f32> {
  return a.x * w0 + a.y * w1 + a.z * w2 + a.w * w3;
}

fn keep_moments(at: u32, v: vec4<f32>) {
  let m = 0.25 * (v.x + v.y + v.z + v.w);
  let d = v - vec4<f32>(m);
  quads[at] = vec2<f32>(m, dot(d, d));
}

// joined are μ and r of a row. Its quads are joined one by one, as Chan, Golub and LeVeque (1983) join the moments of parts: no difference of
// large sums.
fn joined(row: u32, lanes: u32) -> vec2<f32> {
  var m = 0.0;
  var squares = 0.0;
  for (var l = 0u; l < lanes; l++) {
    let share = 1.0 / f32(l + 1u);
    let quad = quads[row * lanes + l];
    let d = quad.x - m;
    m += d * share;
    squares += quad.y + d * d * (4.0 * f32(l) * share);
  }
  return vec2<f32>(m, inverseSqrt(squares / f32(params.outputs) + params.eps));
}

fn store(row: u32, lane: u32, lanes: u32, at: u32, v: vec4<f32>) {
  if (row < params.rows) {
    let m = moments[at];
    y[row * lanes + lane] = real4((v - vec4<f32>(m.x)) * m.y * vec4<f32>(scale[lane]) + vec4<f32>(shift[lane]));
  }
}

@compute @workgroup_size(SIZE)
fn linear_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
  let lanes = params.outputs / 4u;
  let blocks = SIZE / lanes; // of a workgroup; what is left over of it computes the last once more
  let block = min(local / lanes, blocks - 1u);
  let lane = local % lanes;
  let first = ((group.y * groups.x + group.x) * blocks + block) * 8u;
  let last = params.rows - 1u;
  let r0 = min(first, last);
  let r1 = min(first + 1u, last);
  let r2 = min(first + 2u, last);
  let r3 = min(first + 3u, last);
  let r4 = min(first + 4u, last);
  let r5 = min(first + 5u, last);
  let r6 = min(first + 6u, last);
  let r7 = min(first + 7u, last);
  var s0 = started(r0, lane, lanes);
  var s1 = started(r1, lane, lanes);
  var s2 = started(r2, lane, lanes);
  var s3 = started(r3, lane, lanes);
  var s4 = started(r4, lane, lanes);
  var s5 = started(r5, lane, lanes);
  var s6 = started(r6, lane, lanes);
  var s7 = started(r7, lane, lanes);
  let inputs = params.inputs / 4u;
  for (var k = 0u; k < inputs; k++) {
    let from_w = 4u * k * lanes + lane;
    let w0 = vec4<f32>(w[from_w]);
    let w1 = vec4<f32>(w[from_w + lanes]);
    let w2 = vec4<f32>(w[from_w + 2u * lanes]);
    let w3 = vec4<f32>(w[from_w + 3u * lanes]);
    s0 += product(vec4<f32>(x[r0 * inputs + k]), w0, w1, w2, w3);
    s1 += product(vec4<f32>(x[r1 * inputs + k]), w0, w1, w2, w3);
    s2 += product(vec4<f32>(x[r2 * inputs + k]), w0, w1, w2, w3);
    s3 += product(vec4<f32>(x[r3 * inputs + k]), w0, w1, w2, w3);
    s4 += product(vec4<f32>(x[r4 * inputs + k]), w0, w1, w2, w3);
    s5 += product(vec4<f32>(x[r5 * inputs + k]), w0, w1, w2, w3);
    s6 += product(vec4<f32>(x[r6 * inputs + k]), w0, w1, w2, w3);
    s7 += product(vec4<f32>(x[r7 * inputs + k]), w0, w1, w2, w3);
  }
  keep_moments(8u * block * lanes + lane, s0);
  keep_moments((8u * block + 1u) * lanes + lane, s1);
  keep_moments((8u * block + 2u) * lanes + lane, s2);
  keep_moments((8u * block + 3u) * lanes + lane, s3);
  keep_moments((8u * block + 4u) * lanes + lane, s4);
  keep_moments((8u * block + 5u) * lanes + lane, s5);
  keep_moments((8u * block + 6u) * lanes + lane, s6);
  keep_moments((8u * block + 7u) * lanes + lane, s7);
  workgroupBarrier();
  if (local < 8u * blocks) { moments[local] = joined(local, lanes); }
  workgroupBarrier();
  store(first, lane, lanes, 8u * block, s0);
  store(first + 1u, lane, lanes, 8u * block + 1u, s1);
  store(first + 2u, lane, lanes, 8u * block + 2u, s2);
  store(first + 3u, lane, lanes, 8u * block + 3u, s3);
  store(first + 4u, lane, lanes, 8u * block + 4u, s4);
  store(first + 5u, lane, lanes, 8u * block + 5u, s5);
  store(first + 6u, lane, lanes, 8u * block + 6u, s6);
  store(first + 7u, lane, lanes, 8u * block + 7u, s7);
}
