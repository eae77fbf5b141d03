// Convolution of images (B, H, W, C) with weights (kh, kw, Cin, Cout), one result an invocation.
// Below conv2d_common.wgsl: element and stored are real.
//
//   y[b, Y(u), X(v), n]  = f(bias[n] + Σ_{t, s, k} x[b, …, k] w[…, k, n])      forward; f: see
//     put
//                       += Σ …                                              gradient by x, over
//                         transposed weights
//   dw[…, k, n]          = Σ_{b, u, v} x[b, …, k] dy[b, …, n]               backward_weight

const SIZE: u32 = 64u;

@compute @workgroup_size(SIZE)
fn conv2d_forward(id: Invocation) {
  let g = phase_geometry(id.group.z);
  let i = i32(number(id, SIZE));
  let inputs = i32(params.inputs);
  let outputs = i32(params.outputs);
  let n = i % outputs;
  let p = position(g, i / outputs);
  if (p.b >= g.batch) { return; }
  var sum = 0.0;
  if (params.has_bias == 1u) { sum = f32(bias[n]); }
  let row_taps = g.rows.taps;
  let col_taps = g.cols.taps;
  for (var t = 0; t < row_taps; t++) {
    for (var s = 0; s < col_taps; s++) {
      let pixel = source(g, p, t, s);
      if (pixel < 0) { continue; }
      let from_x = pixel * inputs;
      let from_w = weight_at(g, t, s) * inputs * outputs + n;
      for (var k = 0; k < inputs; k++) { sum += f32(x[from_x + k]) * f32(w[from_w + k * outputs]); }
    }
  }
  put(destination(g, p), n, sum);
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(id: Invocation) {
  let g = geometry();
  let i = i32(number(id, SIZE));
  let inputs = i32(params.inputs);
  let outputs = i32(params.outputs);
  let n = i % outputs;
  let k = (i / outputs) % inputs;
  let s = (i / outputs / inputs) % g.cols.taps;
  let t = (i / outputs / inputs / g.cols.taps) % g.rows.taps;
  let part = i / outputs / inputs / g.cols.taps / g.rows.taps;
  if (part >= i32(params.parts)) { return; }
  let first = part * i32(params.chunk);
  let last = min(positions(g), first + i32(params.chunk));
  var sum = 0.0;
  var p = position(g, first);
  for (var i = first; i < last; i++) {
    let pixel = source(g, p, t, s);
    if (pixel >= 0) { sum += f32(x[pixel * inputs + k]) * f32(dy[destination(g, p) * outputs + n]); }
    p = next(g, p);
  }
  let tap = part * g.rows.w_size * g.cols.w_size + weight_at(g, t, s);
  add_weights(tap * inputs + k, n, sum);
}
