// Depthwise convolution of images (B, H, W, C) with weights (kh, kw, C), one result an invocation; the axes are those of
// conv2d.wgsl.
//
//   y[b, Y(u), X(v), n] = bias[n] + Σ_{t, s} x[b, …, n] w[…, n]      forward; backward_x adds, over the same weights
//   dw[…, n]            = Σ_{b, u, v} x[b, …, n] dy[b, …, n]         backward_weight, in `splits` parts

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;

struct Axis {
  count: i32,
  taps: i32,
  x_size: i32,
  x_step: i32,
  x_start: i32,
  x_tap: i32,
  y_size: i32,
  y_step: i32,
  y_start: i32,
  w_size: i32,
  w_start: i32,
  w_tap: i32,
}

struct Params {
  batch: u32,
  inputs: u32, // channels
  outputs: u32, // the same
  has_bias: u32,
  adds: u32,
  splits: u32,
  chunk: u32,
  unused: u32,
  rows: Axis,
  cols: Axis,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> w: array<real>;
@group(0) @binding(3) var<storage, read> bias: array<real>;
@group(0) @binding(4) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dw: array<f32>;

@compute @workgroup_size(SIZE)
fn depthwise_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = i32((group.y * groups.x + group.x) * SIZE + local);
  let r = params.rows;
  let c = params.cols;
  let channels = i32(params.inputs);
  let n = i % channels;
  let v = (i / channels) % c.count;
  let u = (i / channels / c.count) % r.count;
  let b = i / channels / c.count / r.count;
  if (b >= i32(params.batch)) { return; }
  var sum = 0.0;
  if (params.has_bias == 1u) { sum = f32(bias[n]); }
  for (var t = 0; t < r.taps; t++) {
    let row = u * r.x_step + r.x_start + t * r.x_tap;
    if ((row < 0) | (row >= r.x_size)) { continue; }
    for (var s = 0; s < c.taps; s++) {
      let col = v * c.x_step + c.x_start + s * c.x_tap;
      if ((col < 0) | (col >= c.x_size)) { continue; }
      sum += f32(x[((b * r.x_size + row) * c.x_size + col) * channels + n]) *
        f32(w[((r.w_start + t * r.w_tap) * c.w_size + c.w_start + s * c.w_tap) * channels + n]);
    }
  }
  let to = ((b * r.y_size + u * r.y_step + r.y_start) * c.y_size + v * c.y_step + c.y_start) * channels + n;
  if (params.adds == 1u) { sum += f32(y[to]); }
  y[to] = real(sum);
}

@compute @workgroup_size(SIZE)
fn depthwise_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                             @builtin(local_invocation_index) local: u32) {
  let i = i32((group.y * groups.x + group.x) * SIZE + local);
  let r = params.rows;
  let c = params.cols;
  let channels = i32(params.inputs);
  let n = i % channels;
  let s = (i / channels) % c.taps;
  let t = (i / channels / c.taps) % r.taps;
  let split = i / channels / c.taps / r.taps;
  if (split >= i32(params.splits)) { return; }
  let pixels = i32(params.batch) * r.count * c.count;
  var sum = 0.0;
  let first = split * i32(params.chunk);
  var v = first % c.count;
  var u = (first / c.count) % r.count;
  var b = first / c.count / r.count;
  for (var p = first; p < min(pixels, first + i32(params.chunk)); p++) {
    let row = u * r.x_step + r.x_start + t * r.x_tap;
    let col = v * c.x_step + c.x_start + s * c.x_tap;
    if ((row >= 0) & (row < r.x_size) & (col >= 0) & (col < c.x_size)) {
      let pixel = (b * r.y_size + u * r.y_step + r.y_start) * c.y_size + v * c.y_step + c.y_start;
      sum += f32(x[((b * r.x_size + row) * c.x_size + col) * channels + n]) * dy[pixel * channels + n];
    }
    v++;
    if (v == c.count) {
      v = 0;
      u++;
    }
    if (u == r.count) {
      u = 0;
      b++;
    }
  }
  let to = ((split * r.taps + t) * c.taps + s) * channels + n;
  if (params.adds == 1u) { sum += dw[to]; }
  dw[to] = sum;
}
