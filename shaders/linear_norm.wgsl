// A linear map, a residual and the layer normalisation of the sum, at inference: u = x w + bias +
// residual, y = (u - μ) r scale + shift, with μ and r of every row of u as in layer_norm.wgsl. Rows
// are computed in blocks of 8, a workgroup's invocations as many blocks as they suffice for: an
// invocation keeps one quad of outputs of each of its block's rows. Inputs and outputs are
// multiples of four, outputs from 32 to 4 SIZE. Below linear_norm_common.wgsl.
// The header also declares SIZE (invocations of a workgroup: 32 to 128) and QUADS (8 SIZE).

@group(0) @binding(1) var<storage, read> x: array<real4>;

// of each quad, of row after row of block after block: its mean and its squared distances from it,
// summed; then, of each row, μ and r
var<workgroup> quads: array<vec2<f32>, QUADS>;
var<workgroup> moments: array<vec2<f32>, SIZE>;

fn product(a: vec4<f32>, w0: vec4<f32>, w1: vec4<f32>, w2: vec4<f32>, w3: vec4<f32>) -> vec4<f32> {
  return a.x * w0 + a.y * w1 + a.z * w2 + a.w * w3;
}

fn keep_moments(at: u32, v: vec4<f32>) {
  let m = 0.25 * (v.x + v.y + v.z + v.w);
  let d = v - vec4<f32>(m);
  quads[at] = vec2<f32>(m, dot(d, d));
}

fn joined_row(row: u32, lanes: u32) -> vec2<f32> {
  var m = vec2<f32>();
  for (var l = 0u; l < lanes; l++) { m = joined(m, l, quads[row * lanes + l], 4.0); }
  return mean_and_rate(m);
}

@compute @workgroup_size(SIZE)
fn linear_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
  let lanes = params.outputs / 4u;
  let blocks = SIZE / lanes; // of a workgroup; what is left over of it computes the last once more
  let block = min(local / lanes, blocks - 1u);
  let lane = local % lanes;
  let first = ((group.y * groups.x + group.x) * blocks + block) * 8u;
  let last = min(first + 8u, params.rows);
  var sums: array<vec4<f32>, 8>;
  for (var row = first; row < last; row++) { sums[row - first] = started(row, lane, lanes); }
  var s0 = sums[0];
  var s1 = sums[1];
  var s2 = sums[2];
  var s3 = sums[3];
  var s4 = sums[4];
  var s5 = sums[5];
  var s6 = sums[6];
  var s7 = sums[7];
  let inputs = params.inputs / 4u;
  let x0 = min(first, params.rows - 1u) * inputs;
  let x1 = min(first + 1u, params.rows - 1u) * inputs;
  let x2 = min(first + 2u, params.rows - 1u) * inputs;
  let x3 = min(first + 3u, params.rows - 1u) * inputs;
  let x4 = min(first + 4u, params.rows - 1u) * inputs;
  let x5 = min(first + 5u, params.rows - 1u) * inputs;
  let x6 = min(first + 6u, params.rows - 1u) * inputs;
  let x7 = min(first + 7u, params.rows - 1u) * inputs;
  for (var k = 0u; k < inputs; k++) {
    let from_w = 4u * k * lanes + lane;
    let w0 = vec4<f32>(w[from_w]);
    let w1 = vec4<f32>(w[from_w + lanes]);
    let w2 = vec4<f32>(w[from_w + 2u * lanes]);
    let w3 = vec4<f32>(w[from_w + 3u * lanes]);
    s0 += product(vec4<f32>(x[x0 + k]), w0, w1, w2, w3);
    s1 += product(vec4<f32>(x[x1 + k]), w0, w1, w2, w3);
    s2 += product(vec4<f32>(x[x2 + k]), w0, w1, w2, w3);
    s3 += product(vec4<f32>(x[x3 + k]), w0, w1, w2, w3);
    s4 += product(vec4<f32>(x[x4 + k]), w0, w1, w2, w3);
    s5 += product(vec4<f32>(x[x5 + k]), w0, w1, w2, w3);
    s6 += product(vec4<f32>(x[x6 + k]), w0, w1, w2, w3);
    s7 += product(vec4<f32>(x[x7 + k]), w0, w1, w2, w3);
  }
  sums = array<vec4<f32>, 8>(s0, s1, s2, s3, s4, s5, s6, s7);
  for (var row = first; row < last; row++) { keep_moments((8u * block + row - first) * lanes + lane, sums[row - first]); }
  workgroupBarrier();
  if (local < 8u * blocks) { moments[local] = joined_row(local, lanes); }
  workgroupBarrier();
  for (var row = first; row < last; row++) { store(row, lane, lanes, moments[8u * block + row - first], sums[row - first]); }
}
