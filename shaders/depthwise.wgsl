// Depthwise convolution of images (B, H, W, C) with weights (kh, kw, C), one result, or those of a quad of channels, an invocation; C are its
// inputs and outputs. Joined with conv2d_geometry.wgsl, conv2d_params.wgsl and widths_singles.wgsl or widths_quads.wgsl.
//
//   y[b, Y(u), X(v), n] = bias[n] + Σ_{t, s} x[b, …, n] w[…, n]      forward; backward_x adds, over the same weights
//   dw[…, n]            = Σ_{b, u, v} x[b, …, n] dy[b, …, n]         backward_weight, in parts

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>;
const SIZE: u32 = 64u;

@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read> w: array<stored>;
@group(0) @binding(3) var<storage, read> bias: array<stored>;
@group(0) @binding(4) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dw: array<floats>;

@compute @workgroup_size(SIZE)
fn depthwise_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let i = i32((group.y * groups.x + group.x) * SIZE + local);
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
      if (pixel >= 0) { sum += floats(x[pixel * channels + n]) * floats(w[weight_at(g, t, s, vec2<i32>()) * channels + n]); }
    }
  }
  let to = destination(g, p, vec2<i32>()) * channels + n;
  if (params.adds == 1u) { sum += floats(y[to]); }
  y[to] = stored(sum);
}

@compute @workgroup_size(SIZE)
fn depthwise_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                             @builtin(local_invocation_index) local: u32) {
  let g = geometry();
  let i = i32((group.y * groups.x + group.x) * SIZE + local);
  let channels = i32(params.inputs / WIDTH);
  let n = i % channels;
  let s = (i / channels) % g.cols.taps;
  let t = (i / channels / g.cols.taps) % g.rows.taps;
  let part = i / channels / g.cols.taps / g.rows.taps;
  if (part >= i32(params.parts)) { return; }
  let first = part * i32(params.chunk);
  let last = min(g.batch * g.rows.count * g.cols.count, first + i32(params.chunk));
  var sum = floats();
  var p = position(g, first);
  for (var i = first; i < last; i++) {
    let pixel = source(g, p, t, s);
    if (pixel >= 0) { sum += floats(x[pixel * channels + n]) * floats(dy[destination(g, p, vec2<i32>()) * channels + n]); }
    p = next(g, p);
  }
  let to = ((part * g.rows.taps + t) * g.cols.taps + s) * channels + n;
  if (params.adds == 1u) { sum += dw[to]; }
  dw[to] = sum;
}
