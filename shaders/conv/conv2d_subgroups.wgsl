// Convolution for processors that emulate a GPU with subgroups of eight: a subgroup computes 16
// pixels × 32 outputs, or 32 rows × 32 outputs of the weights' gradient. Each lane keeps the four
// outputs of one quad for all of them, and loads a part of x, which broadcasts give to the others.
// There a sum that is kept from turn to turn of a loop is loaded, masked and stored in every turn,
// and each load takes some 2 KB of code: hence several terms a turn, but not so many that the loop
// outgrows the processor's cache of 32 KiB.
//
// The maths are those of conv2d.wgsl; outputs are a multiple of four. Below conv2d_common.wgsl:
// stored is real4, and element is real4 where inputs are a multiple of four, else real. The header
// also declares TERMS (inputs in an element: 4, 1), Terms (element to compute with: vec4<f32>,
// f32), Four (those of four pixels: mat4x4<f32>, vec4<f32>), Weights (a quad of outputs for each of
// TERMS inputs: mat4x4<f32>, vec4<f32>) and the function load_weights(at, quads), which reads them.

const LANES: u32 = 8u; // a workgroup is one subgroup
const STEP: i32 = i32(TERMS);

// terms are those of element i of x, if it is ok.
fn terms(i: i32, ok: bool) -> Terms { return select(Terms(), Terms(x[i]), ok); }

// products are those of weights with the terms of four pixels, one in each column.
fn products(weights: Weights, x: Four) -> mat4x4<f32> {
  return mat4x4<f32>(weights * x[0], weights * x[1], weights * x[2], weights * x[3]);
}

// low and high are the terms that lanes 0 to 3 and 4 to 7 have.
fn low(v: Terms) -> Four {
  return Four(subgroupBroadcast(v, 0u), subgroupBroadcast(v, 1u), subgroupBroadcast(v, 2u), subgroupBroadcast(v, 3u));
}
fn high(v: Terms) -> Four {
  return Four(subgroupBroadcast(v, 4u), subgroupBroadcast(v, 5u), subgroupBroadcast(v, 6u), subgroupBroadcast(v, 7u));
}

@compute @workgroup_size(LANES)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = geometry();
  let phase = phase_of(group.z);
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let first = i32(group.x * 2u * LANES);
  let pa = position(g, first + i32(lane));
  let pb = position(g, first + i32(LANES + lane));
  var start = vec4<f32>();
  if (params.has_bias == 1u) { start = vec4<f32>(bias[q]); }
  var s0 = mat4x4<f32>(start, start, start, start); // pixels 0 to 3, 4 to 7 and so on
  var s1 = s0;
  var s2 = s0;
  var s3 = s0;
  for (var tap = 0; tap < g.rows.taps * g.cols.taps; tap++) {
    let t = tap / g.cols.taps;
    let s = tap % g.cols.taps;
    let a = source(g, pa, t, s);
    let b = source(g, pb, t, s);
    let xa = max(a, 0) * inputs;
    let xb = max(b, 0) * inputs;
    var from_w = weight_at(g, t, s, phase) * inputs * quads + q;
    for (var k = 0; k < inputs; k += STEP) {
      let weights = load_weights(from_w, quads);
      let va = terms((xa + k) / STEP, a >= 0);
      let vb = terms((xb + k) / STEP, b >= 0);
      s0 += products(weights, low(va));
      s1 += products(weights, high(va));
      s2 += products(weights, low(vb));
      s3 += products(weights, high(vb));
      from_w += STEP * quads;
    }
  }
  var sums = array<mat4x4<f32>, 4>(s0, s1, s2, s3);
  var p = position(g, first);
  let last = min(first + 16, positions(g));
  for (var i = first; i < last; i++) {
    let n = i - first;
    if (quad < quads) { put(destination(g, p, phase), quad, sums[n / 4][n % 4]); }
    p = next(g, p);
  }
}

fn load_row(rows: Rows, j: i32) -> vec4<f32> {
  let inside = (j >= rows.low) & (j < rows.high);
  return vec4<f32>(terms(select(0, (rows.base + j) / STEP, inside), inside));
}

// load_rows are four rows of the weights from j on, for the pixel whose rows are given.
fn load_rows(given: vec3<i32>, j: i32) -> vec4<f32> {
  let rows = Rows(given.x, given.y, given.z);
  if (TERMS == 4u) { return load_row(rows, j); }
  return vec4<f32>(load_row(rows, j).x, load_row(rows, j + 1).x, load_row(rows, j + 2).x, load_row(rows, j + 3).x);
}

// In each turn every lane loads its four rows of four pixels, which lanes 0 to 3 have found.
@compute @workgroup_size(LANES)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = geometry();
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let block = i32(group.x * 4u * LANES);
  let j = block + i32(4u * lane);
  let t = i32(group.z) % g.rows.taps;
  let part = i32(group.z) / g.rows.taps;
  var s0 = mat4x4<f32>();
  var s1 = mat4x4<f32>();
  var s2 = mat4x4<f32>();
  var s3 = mat4x4<f32>();
  var s4 = mat4x4<f32>();
  var s5 = mat4x4<f32>();
  var s6 = mat4x4<f32>();
  var s7 = mat4x4<f32>();
  let first = part * i32(params.chunk);
  let last = min(positions(g), first + i32(params.chunk));
  let own = i32(lane % 4u);
  var p = position(g, first + own);
  for (var i = first; i < last; i += 4) {
    let inside = i + own < last;
    let r = rows_at(g, p, t);
    let rows = vec3<i32>(r.base, r.low, select(r.low, r.high, inside));
    let from_y = select(0, destination(g, p, vec2<i32>()) * quads, inside);
    let v0 = load_rows(subgroupBroadcast(rows, 0u), j);
    let v1 = load_rows(subgroupBroadcast(rows, 1u), j);
    let v2 = load_rows(subgroupBroadcast(rows, 2u), j);
    let v3 = load_rows(subgroupBroadcast(rows, 3u), j);
    let gradients = mat4x4<f32>(
      vec4<f32>(dy[subgroupBroadcast(from_y, 0u) + q]),
      vec4<f32>(dy[subgroupBroadcast(from_y, 1u) + q]),
      vec4<f32>(dy[subgroupBroadcast(from_y, 2u) + q]),
      vec4<f32>(dy[subgroupBroadcast(from_y, 3u) + q]));
    s0 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 0u), subgroupBroadcast(v1, 0u), subgroupBroadcast(v2, 0u), subgroupBroadcast(v3, 0u)));
    s1 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 1u), subgroupBroadcast(v1, 1u), subgroupBroadcast(v2, 1u), subgroupBroadcast(v3, 1u)));
    s2 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 2u), subgroupBroadcast(v1, 2u), subgroupBroadcast(v2, 2u), subgroupBroadcast(v3, 2u)));
    s3 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 3u), subgroupBroadcast(v1, 3u), subgroupBroadcast(v2, 3u), subgroupBroadcast(v3, 3u)));
    s4 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 4u), subgroupBroadcast(v1, 4u), subgroupBroadcast(v2, 4u), subgroupBroadcast(v3, 4u)));
    s5 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 5u), subgroupBroadcast(v1, 5u), subgroupBroadcast(v2, 5u), subgroupBroadcast(v3, 5u)));
    s6 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 6u), subgroupBroadcast(v1, 6u), subgroupBroadcast(v2, 6u), subgroupBroadcast(v3, 6u)));
    s7 += gradients * transpose(mat4x4<f32>(subgroupBroadcast(v0, 7u), subgroupBroadcast(v1, 7u), subgroupBroadcast(v2, 7u), subgroupBroadcast(v3, 7u)));
    p = next(g, next(g, next(g, next(g, p))));
  }
  var sums = array<mat4x4<f32>, 8>(s0, s1, s2, s3, s4, s5, s6, s7);
  let end = min(block + 32, g.cols.taps * i32(params.inputs));
  for (var i = block; i < end; i++) {
    if (quad < quads) { add_weights(weight_row(g, part, t, i), quad, sums[(i - block) / 4][i % 4]); }
  }
}
