enable subgroups;

// linear_norm.wgsl for processors that emulate a GPU with subgroups of eight: a workgroup computes 16 whole rows, a subgroup 32 outputs of
// each. A lane keeps one quad of outputs of every row, and loads x for two of the rows; a broadcast gives it to the others. Outputs are a
// multiple of 32.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>; // the same, in quads
const LANES: u32 = 8u; // outputs / 4
const SUBGROUPS: u32 = 1u; // LANES / 8
const MOMENTS: u32 = 16u; // of 16 rows

struct Params {
  rows: u32,
  inputs: u32,
  outputs: u32,
  has_bias: u32,
  has_residual: u32,
  eps: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> w: array<real4>;
@group(0) @binding(3) var<storage, read> bias: array<real4>;
@group(0) @binding(4) var<storage, read> residual: array<real4>;
@group(0) @binding(5) var<storage, read> scale: array<real4>;
@group(0) @binding(6) var<storage, read> shift: array<real4>;
@group(0) @binding(7) var<storage, read_write> y: array<real4>;

// of each subgroup's 32 outputs of each row: their mean, and their squared distances from it, summed
var<workgroup> moments: array<vec2<f32>, MOMENTS>;

fn started(row: u32, lane: u32) -> vec4<f32> {
  var v = vec4<f32>();
  if (params.has_bias == 1u) { v = vec4<f32>(bias[lane]); }
  if (params.has_residual == 1u) { v += vec4<f32>(residual[min(row, params.rows - 1u) * LANES + lane]); }
  return v;
}

fn keep_moments(at: u32, v: vec4<f32>) {
  let m = subgroupAdd(v.x + v.y + v.z + v.w) / 32.0;
  let d = v - vec4<f32>(m);
  moments[at] = vec2<f32>(m, subgroupAdd(dot(d, d)));
}

// store finishes one row's quad. The subgroups' moments are joined one by one, as Chan, Golub and LeVeque (1983) join those of parts: no
// difference of large sums.
fn store(row: u32, at: u32, lane: u32, v: vec4<f32>) {
  var m = 0.0;
  var squares = 0.0;
  for (var s = 0u; s < SUBGROUPS; s++) {
    let share = 1.0 / f32(s + 1u);
    let part = moments[at + 16u * s];
    let d = part.x - m;
    m += d * share;
    squares += part.y + d * d * (32.0 * f32(s) * share);
  }
  let r = inverseSqrt(squares / f32(params.outputs) + params.eps);
  if (row < params.rows) { y[row * LANES + lane] = real4((v - vec4<f32>(m)) * r * vec4<f32>(scale[lane]) + vec4<f32>(shift[lane])); }
}

@compute @workgroup_size(LANES)
fn linear_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) lane: u32) {
  let first = (group.y * groups.x + group.x) * 16u;
  var s0 = started(first, lane);
  var s1 = started(first + 1u, lane);
  var s2 = started(first + 2u, lane);
  var s3 = started(first + 3u, lane);
  var s4 = started(first + 4u, lane);
  var s5 = started(first + 5u, lane);
  var s6 = started(first + 6u, lane);
  var s7 = started(first + 7u, lane);
  var s8 = started(first + 8u, lane);
  var s9 = started(first + 9u, lane);
  var s10 = started(first + 10u, lane);
  var s11 = started(first + 11u, lane);
  var s12 = started(first + 12u, lane);
  var s13 = started(first + 13u, lane);
  var s14 = started(first + 14u, lane);
  var s15 = started(first + 15u, lane);
  let a = min(first + lane % 8u, params.rows - 1u) * params.inputs;
  let b = min(first + 8u + lane % 8u, params.rows - 1u) * params.inputs;
  for (var k = 0u; k < params.inputs; k++) {
    let weight = vec4<f32>(w[k * LANES + lane]);
    let va = f32(x[a + k]);
    let vb = f32(x[b + k]);
    s0 += subgroupBroadcast(va, 0u) * weight;
    s1 += subgroupBroadcast(va, 1u) * weight;
    s2 += subgroupBroadcast(va, 2u) * weight;
    s3 += subgroupBroadcast(va, 3u) * weight;
    s4 += subgroupBroadcast(va, 4u) * weight;
    s5 += subgroupBroadcast(va, 5u) * weight;
    s6 += subgroupBroadcast(va, 6u) * weight;
    s7 += subgroupBroadcast(va, 7u) * weight;
    s8 += subgroupBroadcast(vb, 0u) * weight;
    s9 += subgroupBroadcast(vb, 1u) * weight;
    s10 += subgroupBroadcast(vb, 2u) * weight;
    s11 += subgroupBroadcast(vb, 3u) * weight;
    s12 += subgroupBroadcast(vb, 4u) * weight;
    s13 += subgroupBroadcast(vb, 5u) * weight;
    s14 += subgroupBroadcast(vb, 6u) * weight;
    s15 += subgroupBroadcast(vb, 7u) * weight;
  }
  let at = lane / 8u * 16u;
  keep_moments(at, s0);
  keep_moments(at + 1u, s1);
  keep_moments(at + 2u, s2);
  keep_moments(at + 3u, s3);
  keep_moments(at + 4u, s4);
  keep_moments(at + 5u, s5);
  keep_moments(at + 6u, s6);
  keep_moments(at + 7u, s7);
  keep_moments(at + 8u, s8);
  keep_moments(at + 9u, s9);
  keep_moments(at + 10u, s10);
  keep_moments(at + 11u, s11);
  keep_moments(at + 12u, s12);
  keep_moments(at + 13u, s13);
  keep_moments(at + 14u, s14);
  keep_moments(at + 15u, s15);
  workgroupBarrier();
  store(first, 0u, lane, s0);
  store(first + 1u, 1u, lane, s1);
  store(first + 2u, 2u, lane, s2);
  store(first + 3u, 3u, lane, s3);
  store(first + 4u, 4u, lane, s4);
  store(first + 5u, 5u, lane, s5);
  store(first + 6u, 6u, lane, s6);
  store(first + 7u, 7u, lane, s7);
  store(first + 8u, 8u, lane, s8);
  store(first + 9u, 9u, lane, s9);
  store(first + 10u, 10u, lane, s10);
  store(first + 11u, 11u, lane, s11);
  store(first + 12u, 12u, lane, s12);
  store(first + 13u, 13u, lane, s13);
  store(first + 14u, 14u, lane, s14);
  store(first + 15u, 15u, lane, s15);
}
