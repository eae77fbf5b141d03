// linear_norm.wgsl for processors that emulate a GPU with subgroups of eight. A workgroup computes
// 16 whole rows; each of its subgroups computes 32 outputs of each row. A lane keeps one quad of
// outputs of every row, and loads x for two of the rows; a broadcast gives x to the other lanes.
// Outputs are a multiple of 32. Below linear_norm_common.wgsl. The header also declares LANES
// (outputs / 4: 8), SUBGROUPS (LANES / 8: 1) and MOMENTS (of 16 rows: 16 SUBGROUPS).

@group(0) @binding(1) var<storage, read> x: array<real>;

// For the 32 outputs of each subgroup in each row: their mean, and the sum of their squared
// distances from it.
var<workgroup> moments: array<vec2<f32>, MOMENTS>;

fn keep_moments(at: u32, v: vec4<f32>) {
  let m = subgroupAdd(v.x + v.y + v.z + v.w) / 32.0;
  let d = v - vec4<f32>(m);
  moments[at] = vec2<f32>(m, subgroupAdd(dot(d, d)));
}

fn finish(row: u32, at: u32, lane: u32, v: vec4<f32>) {
  var m = vec2<f32>();
  for (var s = 0u; s < SUBGROUPS; s++) { m = joined(m, s, moments[at + 16u * s], 32.0); }
  store(row, lane, LANES, mean_and_rate(m), v);
}

// low and high are the numbers of lanes 0 to 3 and 4 to 7.
fn low(v: f32) -> vec4<f32> {
  return vec4<f32>(subgroupBroadcast(v, 0u), subgroupBroadcast(v, 1u), subgroupBroadcast(v, 2u), subgroupBroadcast(v, 3u));
}
fn high(v: f32) -> vec4<f32> {
  return vec4<f32>(subgroupBroadcast(v, 4u), subgroupBroadcast(v, 5u), subgroupBroadcast(v, 6u), subgroupBroadcast(v, 7u));
}

fn outer(outputs: vec4<f32>, rows: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(outputs * rows.x, outputs * rows.y, outputs * rows.z, outputs * rows.w);
}

@compute @workgroup_size(LANES)
fn linear_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
  let first = (group.y * groups.x + group.x) * 16u;
  let last = min(first + 16u, params.rows);
  var sums: array<mat4x4<f32>, 4>;
  for (var row = first; row < last; row++) { sums[(row - first) / 4u][(row - first) % 4u] = started(row, local, LANES); }
  var s0 = sums[0];
  var s1 = sums[1];
  var s2 = sums[2];
  var s3 = sums[3];
  let a = min(first + local % 8u, params.rows - 1u) * params.inputs;
  let b = min(first + 8u + local % 8u, params.rows - 1u) * params.inputs;
  for (var k = 0u; k < params.inputs; k++) {
    let weight = vec4<f32>(w[k * LANES + local]);
    let va = f32(x[a + k]);
    let vb = f32(x[b + k]);
    s0 += outer(weight, low(va));
    s1 += outer(weight, high(va));
    s2 += outer(weight, low(vb));
    s3 += outer(weight, high(vb));
  }
  let at = local / 8u * 16u;
  sums = array<mat4x4<f32>, 4>(s0, s1, s2, s3);
  for (var row = first; row < last; row++) { keep_moments(at + row - first, sums[(row - first) / 4u][(row - first) % 4u]); }
  workgroupBarrier();
  for (var row = first; row < last; row++) { finish(row, row - first, local, sums[(row - first) / 4u][(row - first) % 4u]); }
}
