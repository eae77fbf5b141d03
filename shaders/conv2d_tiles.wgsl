// Convolution for GPUs, as a product of matrices that are gathered on the way (implicit GEMM): a workgroup keeps a tile of
// 4 ROWS × 4 COLUMNS results, 4 × 4 an invocation, and walks along the contraction STEP at a time, through workgroup memory.
// Small tiles make more workgroups, large ones load less. The maths are those of conv2d.wgsl. Joined with
// conv2d_terms.wgsl and the parts of conv2d.wgsl.
//
//   forward          rows are pixels (b, u, v),  columns outputs, the contraction runs over (t, s, input)
//   backward_weight  rows are (t, s, input),     columns outputs, the contraction runs over the pixels of one part; no slices
//
// Where storage is of f16, forward also multiplies and adds the DEPTH terms of a step in f16, at which GPUs are up to twice as fast, and the
// steps in f32: a sum of eight is off by eight roundings of 2^-11 at most, and no error grows with the length of the contraction.

const HALF: bool = false; // real is f16

alias stored = real;
alias floats = f32;
const WIDTH: u32 = 1u;
alias element = real;
const CHANNELS: u32 = 1u;
alias summed = vec4<f32>;

var<workgroup> left: array<real4, LEFT>;   // [term][row quad]
var<workgroup> right: array<real4, RIGHT>; // [term][column quad]

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let outputs = i32(params.outputs);
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
  for (var start = 0; start < length; start += i32(STEP)) {
    for (var i = local; i < LEFT; i += SIZE) { // neighbours load neighbouring inputs
      let at = start + i32(i % STEP);
      let a = term(g, at);
      let p0 = position(g, first_row + i32(i / STEP) * 4);
      let p1 = next(g, p0);
      let p2 = next(g, p1);
      let p3 = next(g, p2);
      let ok = at < length;
      left[(i % STEP) * ROWS + i / STEP] = real4(load_x(g, p0, a, ok), load_x(g, p1, a, ok), load_x(g, p2, a, ok), load_x(g, p3, a, ok));
    }
    for (var i = local; i < RIGHT; i += SIZE) {
      let n = first_column + i32(i % COLUMNS) * 4;
      let at = weight_row(g, term(g, min(start + i32(i / COLUMNS), length - 1)), phase) * outputs;
      let end = outputs - 1; // beyond it is anything: those results are not stored
      right[i] = real4(w[at + min(n, end)], w[at + min(n + 1, end)], w[at + min(n + 2, end)], w[at + min(n + 3, end)]);
    }
    workgroupBarrier();
    if (HALF) {
      var t0 = real4();
      var t1 = real4();
      var t2 = real4();
      var t3 = real4();
      for (var d = slice * DEPTH; d < (slice + 1u) * DEPTH; d++) {
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
      for (var d = slice * DEPTH; d < (slice + 1u) * DEPTH; d++) {
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

fn store(pixel: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  for (var c = 0; c < 4; c++) {
    let n = column + c;
    if ((pixel >= 0) & (n < i32(params.outputs))) {
      let i = pixel * i32(params.outputs) + n;
      var v = values[c];
      if (params.has_bias == 1u) { v += f32(bias[n]); }
      y[i] = real(finished(i, n, v));
    }
  }
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let outputs = i32(params.outputs);
  let length = g.rows.taps * g.cols.taps * i32(params.inputs);
  let first_row = i32(group.x * ROWS * 4u);
  let first_column = i32(group.y * COLUMNS * 4u);
  let first = i32(group.z * params.chunk);
  let last = min(g.batch * g.rows.count * g.cols.count, first + i32(params.chunk));
  var s0 = vec4<f32>();
  var s1 = vec4<f32>();
  var s2 = vec4<f32>();
  var s3 = vec4<f32>();
  for (var start = first; start < last; start += i32(DEPTH)) {
    for (var i = local; i < LEFT; i += SIZE) {
      let p = position(g, start + i32(i / ROWS));
      let ok = start + i32(i / ROWS) < last;
      let row = first_row + i32(i % ROWS) * 4;
      left[i] = real4(load_x(g, p, term(g, row), ok & (row < length)), load_x(g, p, term(g, row + 1), ok & (row + 1 < length)),
                      load_x(g, p, term(g, row + 2), ok & (row + 2 < length)), load_x(g, p, term(g, row + 3), ok & (row + 3 < length)));
    }
    for (var i = local; i < RIGHT; i += SIZE) {
      let n = first_column + i32(i % COLUMNS) * 4;
      let at = destination(g, position(g, min(start + i32(i / COLUMNS), last - 1)), vec2<i32>()) * outputs;
      let end = outputs - 1; // beyond it is anything: those results are not stored
      right[i] = real4(dy[at + min(n, end)], dy[at + min(n + 1, end)], dy[at + min(n + 2, end)], dy[at + min(n + 3, end)]);
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
  store_weights(g, group.z, row, column, s0);
  store_weights(g, group.z, row + 1, column, s1);
  store_weights(g, group.z, row + 2, column, s2);
  store_weights(g, group.z, row + 3, column, s3);
}

fn store_weights(g: Geometry, part: u32, row: i32, column: i32, sum: vec4<f32>) {
  var values = sum;
  let whole = g.rows.w_size * g.cols.w_size * i32(params.inputs);
  let to = (i32(part) * whole + weight_row(g, term(g, row), vec2<i32>())) * i32(params.outputs);
  for (var c = 0; c < 4; c++) {
    let n = column + c;
    if ((row < g.rows.taps * g.cols.taps * i32(params.inputs)) & (n < i32(params.outputs))) {
      dw[to + n] = values[c] + select(0.0, dw[to + n], params.adds == 1u);
    }
  }
}
