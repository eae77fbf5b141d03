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
  let last = min(first + 16u, params.rows);
  var sums: array<vec4<f32>, 16>;
  for (var row = first; row < last; row++) { sums[row - first] = started(row, lane, LANES); }
  var s0 = sums[0];
  var s1 = sums[1];
  var s2 = sums[2];
  var s3 = sums[3];
  var s4 = sums[4];
  var s5 = sums[5];
  var s6 = sums[6];
  var s7 = sums[7];
  var s8 = sums[8];
  var s9 = sums[9];
  var s10 = sums[10];
  var s11 = sums[11];
  var s12 = sums[12];
  var s13 = sums[13];
  var s14 = sums[14];
  var s15 = sums[15];
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
  sums = array<vec4<f32>, 16>(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15);
  for (var row = first; row < last; row++) { keep_moments(at + row - first, sums[row - first]); }
  workgroupBarrier();
  for (var row = first; row < last; row++) { finish(row, row - first, lane, sums[row - first]); }
}
