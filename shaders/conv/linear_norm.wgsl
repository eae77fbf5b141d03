// A linear map, a residual and the layer normalisation of the sum, at inference: u = x w + bias +
// residual, y = (u - μ) r scale + shift, with μ and r of every row of u as in layer_norm.wgsl. A
// block has 8 rows, and an invocation keeps one quad of outputs of each row of its block. A
// workgroup has as many blocks as its invocations suffice for. Inputs and outputs are multiples of
// four, outputs from 32 to 4 SIZE. Below linear_norm_common.wgsl. The header also declares SIZE
// (invocations of a workgroup: 32 to 128) and QUADS (8 SIZE).

@group(0) @binding(1) var<storage, read> x: array<real4>;

// For each quad (row after row, block after block): its mean, and the sum of its squared distances
// from the mean. Then, for each row, μ and r.
var<workgroup> quads: array<vec2<f32>, QUADS>;
var<workgroup> moments: array<vec2<f32>, SIZE>;

// four has quad k of four rows of x, one in each column, which begin at `at`.
fn four(at: vec4<u32>, k: u32) -> mat4x4<f32> {
  return mat4x4<f32>(vec4<f32>(x[at.x + k]), vec4<f32>(x[at.y + k]), vec4<f32>(x[at.z + k]), vec4<f32>(x[at.w + k]));
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
  let blocks = SIZE / lanes; // of a workgroup; spare invocations compute the last block once more
  let block = min(local / lanes, blocks - 1u);
  let lane = local % lanes;
  let first = ((group.y * groups.x + group.x) * blocks + block) * 8u;
  let last = min(first + 8u, params.rows);
  var sums: array<mat4x4<f32>, 2>;
  for (var row = first; row < last; row++) { sums[(row - first) / 4u][row % 4u] = started(row, lane, lanes); }
  var s0 = sums[0]; // rows 0 to 3
  var s4 = sums[1]; // rows 4 to 7
  let inputs = params.inputs / 4u;
  let rows = vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u);
  let x0 = min(rows, vec4<u32>(params.rows - 1u)) * inputs;
  let x4 = min(rows + 4u, vec4<u32>(params.rows - 1u)) * inputs;
  for (var k = 0u; k < inputs; k++) {
    let from_w = 4u * k * lanes + lane;
    let weights = mat4x4<f32>(vec4<f32>(w[from_w]), vec4<f32>(w[from_w + lanes]), vec4<f32>(w[from_w + 2u * lanes]), vec4<f32>(w[from_w + 3u * lanes]));
    s0 += weights * four(x0, k);
    s4 += weights * four(x4, k);
  }
  sums = array<mat4x4<f32>, 2>(s0, s4);
  for (var row = first; row < last; row++) {
    keep_moments((8u * block + row - first) * lanes + lane, sums[(row - first) / 4u][row % 4u]);
  }
  workgroupBarrier();
  if (local < 8u * blocks) { moments[local] = joined_row(local, lanes); }
  workgroupBarrier();
  for (var row = first; row < last; row++) { store(row, lane, lanes, moments[8u * block + row - first], sums[(row - first) / 4u][row % 4u]); }
}
