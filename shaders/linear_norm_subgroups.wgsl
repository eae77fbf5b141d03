enable subgroups;

// linear_norm.wgsl for processors that emulate a GPU with subgroups of eight: a workgroup computes 16 whole rows, a subgroup 32 outputs of
// each. A lane keeps one quad of outputs of every row, and loads x for two of the rows; a broadcast gives it to the others. Outputs are a
// multiple of 32. Joined with linear_norm_rows.wgsl.

const LANES: u32 = 8u; // outputs / 4
const SUBGROUPS: u32 = 1u; // LANES / 8
const MOMENTS: u32 = 16u; // of 16 rows

@group(0) @binding(1) var<storage, read> x: array<real>;

// of each subgroup's 32 outputs of each row: their mean, and their squared distances from it, summed
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

@compute @workgroup_size(LANES)
fn linear_norm_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) lane: u32) {
  let first = (group.y * groups.x + group.x) * 16u;
  var s0 = started(first, lane, LANES);
  var s1 = started(first + 1u, lane, LANES);
  var s2 = started(first + 2u, lane, LANES);
  var s3 = started(first + 3u, lane, LANES);
  var s4 = started(first + 4u, lane, LANES);
  var s5 = started(first + 5u, lane, LANES);
  var s6 = started(first + 6u, lane, LANES);
  var s7 = started(first + 7u, lane, LANES);
  var s8 = started(first + 8u, lane, LANES);
  var s9 = started(first + 9u, lane, LANES);
  var s10 = started(first + 10u, lane, LANES);
  var s11 = started(first + 11u, lane, LANES);
  var s12 = started(first + 12u, lane, LANES);
  var s13 = started(first + 13u, lane, LANES);
  var s14 = started(first + 14u, lane, LANES);
  var s15 = started(first + 15u, lane, LANES);
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
  finish(first, 0u, lane, s0);
  finish(first + 1u, 1u, lane, s1);
  finish(first + 2u, 2u, lane, s2);
  finish(first + 3u, 3u, lane, s3);
  finish(first + 4u, 4u, lane, s4);
  finish(first + 5u, 5u, lane, s5);
  finish(first + 6u, 6u, lane, s6);
  finish(first + 7u, 7u, lane, s7);
  finish(first + 8u, 8u, lane, s8);
  finish(first + 9u, 9u, lane, s9);
  finish(first + 10u, 10u, lane, s10);
  finish(first + 11u, 11u, lane, s11);
  finish(first + 12u, 12u, lane, s12);
  finish(first + 13u, 13u, lane, s13);
  finish(first + 14u, 14u, lane, s14);
  finish(first + 15u, 15u, lane, s15);
}
