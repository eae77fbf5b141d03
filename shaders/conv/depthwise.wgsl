// Depthwise convolution of images (B, H, W, C) with weights (kh, kw, C). An invocation has one
// result, or the results of a quad of channels. Inputs = outputs = C. Below conv2d_common.wgsl:
// element and stored are both real4 or both real.
//
//   y[b, Y(u), X(v), n] = activated(bias[n] + Σ_{t, s} x[b, …, n] w[…, n])   forward; backward_x
//     adds to dx, over the same weights
//   dw[…, n]            = Σ_{b, u, v} x[b, …, n] dy[b, …, n]         backward_weight, in parts

const SIZE: u32 = 64u;

@group(0) @binding(4) var<storage, read_write> result: array<stored>; // y

@compute @workgroup_size(SIZE)
fn depthwise_forward(id: Invocation) {
  let g = phase_geometry(id.group.z);
  let i = i32(number(id, SIZE));
  let channels = i32(params.inputs / WIDTH);
  let n = i % channels;
  let p = position(g, i / channels);
  if (p.b >= g.batch) { return; }
  var sum = floats();
  if (params.has_bias == 1u) { sum = floats(bias[n]); }
  let row_taps = g.rows.taps;
  let col_taps = g.cols.taps;
  for (var t = 0; t < row_taps; t++) {
    for (var s = 0; s < col_taps; s++) {
      let pixel = source(g, p, t, s);
      if (pixel >= 0) { sum += floats(x[pixel * channels + n]) * floats(w[weight_at(g, t, s) * channels + n]); }
    }
  }
  let to = destination(g, p) * channels + n;
  if (params.adds == ADD_TO_Y && !FRESH) { sum += floats(result[to]); }
  result[to] = stored(activated(sum));
}

@compute @workgroup_size(SIZE)
fn depthwise_backward_weight(id: Invocation) {
  let g = geometry();
  let i = i32(number(id, SIZE));
  let channels = i32(params.inputs / WIDTH);
  let n = i % channels;
  let s = (i / channels) % g.cols.taps;
  let t = (i / channels / g.cols.taps) % g.rows.taps;
  let part = i / channels / g.cols.taps / g.rows.taps;
  if (part >= i32(params.parts)) { return; }
  let first = part * i32(params.chunk);
  let last = min(positions(g), first + i32(params.chunk));
  var sum = floats();
  var p = position(g, first);
  for (var i = first; i < last; i++) {
    let pixel = source(g, p, t, s);
    if (pixel >= 0) { sum += floats(x[pixel * channels + n]) * floats(dy[destination(g, p) * channels + n]); }
    p = next(g, p);
  }
  let to = ((part * g.rows.taps + t) * g.cols.taps + s) * channels + n;
  if (params.adds == ADD_TO_Y && !FRESH) { sum += dw[to]; }
  dw[to] = sum;
}
