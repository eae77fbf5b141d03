// Convolution for processors that emulate a GPU with subgroups of eight. A subgroup computes 16
// pixels × 32 outputs, or 32 rows × 32 outputs of the weights' gradient. Each lane keeps one quad
// of outputs for all these pixels or rows. It loads a part of x, and broadcasts give this part to
// the other lanes. Such a processor loads, masks and stores a sum in every turn of a loop, and each
// load takes some 2 KB of code. A turn therefore has several terms, but not so many that the loop
// outgrows the processor's cache of 32 KiB.
//
// The maths are those of conv2d.wgsl. Outputs are a multiple of four. Below conv2d_common.wgsl:
// stored is real4. element is real4 if inputs are a multiple of four, and else real. The header
// also declares TERMS (inputs in an element: 4, 1), Terms (element to compute with: vec4<f32>,
// f32), Four (Terms of four pixels: mat4x4<f32>, vec4<f32>), Weights (a quad of outputs for each of
// TERMS inputs: mat4x4<f32>, vec4<f32>) and the function load_weights(at, quads), which reads
// Weights.

const LANES: u32 = 8u; // a workgroup is one subgroup
const STEP: i32 = i32(TERMS);

// terms are element i of x, or zeros if ok is false.
fn terms(i: i32, ok: bool) -> Terms { return select(Terms(), Terms(x[i]), ok); }

@compute @workgroup_size(LANES)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let g = phase_geometry(group.z);
  let inputs = i32(params.inputs);
  let quads = i32(params.outputs) / 4;
  let quad = i32(group.y * LANES + lane);
  let q = min(quad, quads - 1);
  let first = i32(group.x * 2u * LANES);
  let pa = position(g, first + i32(lane));
  let pb = position(g, first + i32(LANES + lane));
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
    let a = source(g, pa, t, s);
    let b = source(g, pb, t, s);
    let xa = max(a, 0) * inputs;
    let xb = max(b, 0) * inputs;
    var from_w = weight_at(g, t, s) * inputs * quads + q;
    for (var k = 0; k < inputs; k += STEP) {
      let weights = load_weights(from_w, quads);
      let va = terms((xa + k) / STEP, a >= 0);
      let vb = terms((xb + k) / STEP, b >= 0);
      s0 += weights * subgroupBroadcast(va, 0u);
      s1 += weights * subgroupBroadcast(va, 1u);
      s2 += weights * subgroupBroadcast(va, 2u);
      s3 += weights * subgroupBroadcast(va, 3u);
      s4 += weights * subgroupBroadcast(va, 4u);
      s5 += weights * subgroupBroadcast(va, 5u);
      s6 += weights * subgroupBroadcast(va, 6u);
      s7 += weights * subgroupBroadcast(va, 7u);
      s8 += weights * subgroupBroadcast(vb, 0u);
      s9 += weights * subgroupBroadcast(vb, 1u);
      s10 += weights * subgroupBroadcast(vb, 2u);
      s11 += weights * subgroupBroadcast(vb, 3u);
      s12 += weights * subgroupBroadcast(vb, 4u);
      s13 += weights * subgroupBroadcast(vb, 5u);
      s14 += weights * subgroupBroadcast(vb, 6u);
      s15 += weights * subgroupBroadcast(vb, 7u);
      from_w += STEP * quads;
    }
  }
  var sums = array<vec4<f32>, 16>(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15);
  var p = position(g, first);
  let last = min(first + 16, positions(g));
  for (var i = first; i < last; i++) {
    if (quad < quads) { put(destination(g, p), quad, sums[i - first]); }
    p = next(g, p);
  }
}

fn load_row(rows: Rows, j: i32) -> vec4<f32> {
  let inside = (j >= rows.low) & (j < rows.high);
  return vec4<f32>(terms(select(0, (rows.base + j) / STEP, inside), inside));
}

// load_rows are four rows from j on of the pixel whose Rows are given.
fn load_rows(given: vec3<i32>, j: i32) -> vec4<f32> {
  let rows = Rows(given.x, given.y, given.z);
  if (TERMS == 4u) { return load_row(rows, j); }
  return vec4<f32>(load_row(rows, j).x, load_row(rows, j + 1).x, load_row(rows, j + 2).x, load_row(rows, j + 3).x);
}

// In each turn lanes 0 to 3 find the rows of one pixel each, and every lane loads its four rows of
// the four pixels.
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
    let from_y = select(0, destination(g, p) * quads, inside);
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
