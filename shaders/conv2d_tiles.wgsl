// Convolution for GPUs, as a product of matrices that are gathered on the way (implicit GEMM): a workgroup keeps a tile of
// 4 ROWS × 4 COLUMNS results, 4 × 4 an invocation, and walks along the contraction STEP at a time, through workgroup memory.
// Small tiles make more workgroups, large ones load less. The maths are those of conv2d.wgsl. Joined with
// conv2d_tiles_channels.wgsl or conv2d_tiles_quads.wgsl, conv2d_terms.wgsl and the parts of conv2d.wgsl.
//
//   forward          rows are pixels (b, u, v),  columns outputs, the contraction runs over (t, s, input)
//   backward_weight  rows are (t, s, input),     columns outputs, the contraction runs over the pixels of one part; no slices
//
// Where storage is of f16, forward at inference also multiplies and adds the DEPTH terms of a step in f16, at which GPUs are up to twice as fast,
// and the steps in f32: a sum of eight is off by eight roundings of 2^-11 at most, and no error grows with the length of the contraction.

const HALF: bool = false; // real is f16, at inference

alias summed = vec4<f32>;

var<workgroup> left: array<real4, LEFT>;   // [term][row quad]
var<workgroup> right: array<real4, RIGHT>; // [term][column quad]

// row_of is the row of the weights, (taps, inputs), that belongs to term i of the contraction.
fn row_of(g: Geometry, i: i32, phase: vec2<i32>) -> i32 {
  let channels = i32(CHANNELS);
  return weight_of(g, term(g, i / channels), phase) * channels + i % channels;
}

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let phase = phase_of(group.z);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let row_quad = local % TILE / COLUMNS;
  let column_quad = local % COLUMNS;
  let row = first_row + i32(row_quad) * 4;
  let column = first_column + i32(column_quad) * 4;
  let slice = local / TILE;
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  let steps = (length + i32(STEP) - 1) / i32(STEP);
  for (var step = 0; step < steps; step++) {
    let start = step * i32(STEP);
    load_step(g, start, length, first_row, local);
    for (var turn = 0u; turn < (RIGHT + SIZE - 1u) / SIZE; turn++) {
      let i = turn * SIZE + local;
      if (i < RIGHT) {
        let row = row_of(g, min(start + i32(i / COLUMNS), length - 1), phase);
        right[i] = load_weights(row, first_column + i32(i % COLUMNS) * 4);
      }
    }
    workgroupBarrier();
    if (HALF) {
      var t0 = real4();
      var t1 = real4();
      var t2 = real4();
      var t3 = real4();
      for (var k = 0u; k < DEPTH; k++) {
        let d = slice * DEPTH + k;
        let a = left[d * ROWS + row_quad];
        let b = right[d * COLUMNS + column_quad];
        t0 += a.x * b;
        t1 += a.y * b;
        t2 += a.z * b;
        t3 += a.w * b;
      }
      s0 += vec4<f32>(t0);
      s1 += vec4<f32>(t1);
      s2 += vec4<f32>(t2);
      s3 += vec4<f32>(t3);
    } else {
      for (var k = 0u; k < DEPTH; k++) {
        let d = slice * DEPTH + k;
        let a = vec4<f32>(left[d * ROWS + row_quad]);
        let b = vec4<f32>(right[d * COLUMNS + column_quad]);
        s0 += a.x * b;
        s1 += a.y * b;
        s2 += a.z * b;
        s3 += a.w * b;
      }
    }
    workgroupBarrier();
  }
  if (SLICES > 1u) {
    let sum = whole(local, 3u, s3, whole(local, 2u, s2, whole(local, 1u, s1, whole(local, 0u, s0, summed()))));
    if (slice < 4u) { store(destination(g, position(g, row + i32(slice)), phase), column, sum); }
    return;
  }
  let p0 = position(g, row);
  let p1 = next(g, p0);
  let p2 = next(g, p1);
  let p3 = next(g, p2);
  store(destination(g, p0, phase), column, s0);
  store(destination(g, p1, phase), column, s1);
  store(destination(g, p2, phase), column, s2);
  store(destination(g, p3, phase), column, s3);
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let first = i32(group.z * params.chunk);
  let last = min(g.batch * g.rows.count * g.cols.count, first + i32(params.chunk));
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  let steps = (last - first + i32(DEPTH) - 1) / i32(DEPTH);
  for (var step = 0; step < steps; step++) {
    let start = first + step * i32(DEPTH);
    for (var turn = 0u; turn < (LEFT + SIZE - 1u) / SIZE; turn++) {
      let i = turn * SIZE + local;
      if (i < LEFT) {
        let p = position(g, start + i32(i / ROWS));
        let ok = start + i32(i / ROWS) < last;
        let row = first_row + i32(i % ROWS) * 4;
        left[i] = load_inputs(g, p, row, length, ok);
      }
    }
    for (var turn = 0u; turn < (RIGHT + SIZE - 1u) / SIZE; turn++) {
      let i = turn * SIZE + local;
      if (i < RIGHT) {
        let pixel = destination(g, position(g, min(start + i32(i / COLUMNS), last - 1)), vec2<i32>());
        right[i] = load_gradients(pixel, first_column + i32(i % COLUMNS) * 4);
      }
    }
    workgroupBarrier();
    for (var d = 0u; d < DEPTH; d++) {
      let a = vec4<f32>(left[d * ROWS + local / COLUMNS]);
      let b = vec4<f32>(right[d * COLUMNS + local % COLUMNS]);
      s0 += a.x * b;
      s1 += a.y * b;
      s2 += a.z * b;
      s3 += a.w * b;
    }
    workgroupBarrier();
  }
  let row = first_row + i32(local / COLUMNS) * 4;
  let column = first_column + i32(local % COLUMNS) * 4;
  let part = i32(group.z) * g.rows.w_size * g.cols.w_size * i32(params.inputs);
  if (row < length) { store_weights(part + row_of(g, row, vec2<i32>()), column, s0); }
  if (row + 1 < length) { store_weights(part + row_of(g, row + 1, vec2<i32>()), column, s1); }
  if (row + 2 < length) { store_weights(part + row_of(g, row + 2, vec2<i32>()), column, s2); }
  if (row + 3 < length) { store_weights(part + row_of(g, row + 3, vec2<i32>()), column, s3); }
}
