enable subgroups;

// Convolution for processors that emulate a GPU with subgroups of eight: a subgroup computes 16 pixels × 32 outputs. Each lane
// keeps the four outputs of one quad for every pixel, and loads x for two of the pixels; a broadcast gives it to the others.
// The maths are those of conv2d.wgsl; outputs are a multiple of four. Joined with conv2d_quads.wgsl and the parts of conv2d.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup

fn store(pixel: i32, quad: i32, sum: vec4<f32>) {
  if ((pixel >= 0) & (quad < i32(params.outputs) / 4)) { put(pixel, quad, sum); }
}

@compute @workgroup_size(LANES)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = geometry();
  let phase = phase_of(group.z);
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let pa = position(g, i32(group.x * 2u * LANES + lane));
  let pb = position(g, i32(group.x * 2u * LANES + LANES + lane));
  var start = vec4<f32>();
  if (params.has_bias == 1u) { start = vec4<f32>(bias[q]); }
  var s0 = start;
  var s1 = start;
  var s2 = start;
  var s3 = start;
  var s4 = start;
  var s5 = start;
  var s6 = start;
  var s7 = start;
  var s8 = start;
  var s9 = start;
  var s10 = start;
  var s11 = start;
  var s12 = start;
  var s13 = start;
  var s14 = start;
  var s15 = start;
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) {
    let t = tap / g.cols.taps;
    let s = tap % g.cols.taps;
    let xa = source(g, pa, t, s) * inputs;
    let xb = source(g, pb, t, s) * inputs;
    var from_w = weight_at(g, t, s, phase) * inputs * quads + q;
    for (var k = 0; k < inputs; k++) {
      let weight = vec4<f32>(w[from_w]);
      let va = load(xa, k);
      let vb = load(xb, k);
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
      from_w += quads;
    }
  }
  let da = destination(g, pa, phase);
  let db = destination(g, pb, phase);
  store(subgroupBroadcast(da, 0u), quad, s0);
  store(subgroupBroadcast(da, 1u), quad, s1);
  store(subgroupBroadcast(da, 2u), quad, s2);
  store(subgroupBroadcast(da, 3u), quad, s3);
  store(subgroupBroadcast(da, 4u), quad, s4);
  store(subgroupBroadcast(da, 5u), quad, s5);
  store(subgroupBroadcast(da, 6u), quad, s6);
  store(subgroupBroadcast(da, 7u), quad, s7);
  store(subgroupBroadcast(db, 0u), quad, s8);
  store(subgroupBroadcast(db, 1u), quad, s9);
  store(subgroupBroadcast(db, 2u), quad, s10);
  store(subgroupBroadcast(db, 3u), quad, s11);
  store(subgroupBroadcast(db, 4u), quad, s12);
  store(subgroupBroadcast(db, 5u), quad, s13);
  store(subgroupBroadcast(db, 6u), quad, s14);
  store(subgroupBroadcast(db, 7u), quad, s15);
}

fn store_weight(row: i32, quad: i32, sum: vec4<f32>) {
  let quads = i32(params.outputs) / 4;
  if ((row >= 0) & (quad < quads)) {
    let before = select(vec4<f32>(), dw[row * quads + quad], params.adds == 1u);
    dw[row * quads + quad] = before + sum;
  }
}

@compute @workgroup_size(LANES)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = geometry();
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let j = i32(group.x * 2u * LANES);
  let t = i32(group.z) % g.rows.taps;
  let part = i32(group.z) / g.rows.taps;
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  var s4 = vec4<f32>();
  var s5 = vec4<f32>();
  var s6 = vec4<f32>();
  var s7 = vec4<f32>();
  var s8 = vec4<f32>();
  var s9 = vec4<f32>();
  var s10 = vec4<f32>();
  var s11 = vec4<f32>();
  var s12 = vec4<f32>();
  var s13 = vec4<f32>();
  var s14 = vec4<f32>();
  var s15 = vec4<f32>();
  let first = part * i32(params.chunk);
  let last = min(g.batch * g.rows.count * g.cols.count, first + i32(params.chunk));
  var p = position(g, first);
  for (var i = first; i < last; i++) {
    let rows = rows_at(g, p, t);
    let from_y = destination(g, p, vec2<i32>()) * quads;
    let gradient = vec4<f32>(dy[from_y + q]);
    let va = load_row(rows, j + i32(lane));
    let vb = load_row(rows, j + i32(LANES + lane));
    s0 += subgroupBroadcast(va, 0u) * gradient;
    s1 += subgroupBroadcast(va, 1u) * gradient;
    s2 += subgroupBroadcast(va, 2u) * gradient;
    s3 += subgroupBroadcast(va, 3u) * gradient;
    s4 += subgroupBroadcast(va, 4u) * gradient;
    s5 += subgroupBroadcast(va, 5u) * gradient;
    s6 += subgroupBroadcast(va, 6u) * gradient;
    s7 += subgroupBroadcast(va, 7u) * gradient;
    s8 += subgroupBroadcast(vb, 0u) * gradient;
    s9 += subgroupBroadcast(vb, 1u) * gradient;
    s10 += subgroupBroadcast(vb, 2u) * gradient;
    s11 += subgroupBroadcast(vb, 3u) * gradient;
    s12 += subgroupBroadcast(vb, 4u) * gradient;
    s13 += subgroupBroadcast(vb, 5u) * gradient;
    s14 += subgroupBroadcast(vb, 6u) * gradient;
    s15 += subgroupBroadcast(vb, 7u) * gradient;
    p = next(g, p);
  }
  store_weight(weight_row(g, part, t, j + 0), quad, s0);
  store_weight(weight_row(g, part, t, j + 1), quad, s1);
  store_weight(weight_row(g, part, t, j + 2), quad, s2);
  store_weight(weight_row(g, part, t, j + 3), quad, s3);
  store_weight(weight_row(g, part, t, j + 4), quad, s4);
  store_weight(weight_row(g, part, t, j + 5), quad, s5);
  store_weight(weight_row(g, part, t, j + 6), quad, s6);
  store_weight(weight_row(g, part, t, j + 7), quad, s7);
  store_weight(weight_row(g, part, t, j + 8), quad, s8);
  store_weight(weight_row(g, part, t, j + 9), quad, s9);
  store_weight(weight_row(g, part, t, j + 10), quad, s10);
  store_weight(weight_row(g, part, t, j + 11), quad, s11);
  store_weight(weight_row(g, part, t, j + 12), quad, s12);
  store_weight(weight_row(g, part, t, j + 13), quad, s13);
  store_weight(weight_row(g, part, t, j + 14), quad, s14);
  store_weight(weight_row(g, part, t, j + 15), quad, s15);
}
