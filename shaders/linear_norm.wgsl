// A linear map, a residual and the layer normalisation of the sum, at inference: u = x w + bias + residual, y = (u - μ) r scale + shift, with
// μ and r of every row of u as in layer_norm.wgsl. Rows are computed in blocks of 8, a workgroup's invocations as many
// blocks as they suffice for: an invocation keeps one quad of outputs of each of its block's rows. Inputs and outputs are multiples of four, outputs
// from 32 to 4 SIZE. Joined with linear_norm_rows.wgsl.

const SIZE: u32 = 64u;
const QUADS: u32 = 512u; // 8 SIZE

@group(0) @binding(1) var<storage, read> x: array<real4>;

// of each quad, of row after row of block after block: its mean and its squared distances from it, summed; then, of each row, μ and r
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
  if (local < 8u * blocks) { moments[local] = joined_row(local, lanes); }
  workgroupBarrier();
  store(first, lane, lanes, moments[8u * block], s0);
  store(first + 1u, lane, lanes, moments[8u * block + 1u], s1);
  store(first + 2u, lane, lanes, moments[8u * block + 2u], s2);
  store(first + 3u, lane, lanes, moments[8u * block + 3u], s3);
  store(first + 4u, lane, lanes, moments[8u * block + 4u], s4);
  store(first + 5u, lane, lanes, moments[8u * block + 5u], s5);
  store(first + 6u, lane, lanes, moments[8u * block + 6u], s6);
  store(first + 7u, lane, lanes, moments[8u * block + 7u], s7);
}
