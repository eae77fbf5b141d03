// Convolution of images (B, H, W, C) with weights (kh, kw, Cin, Cout), one result an invocation; see conv2d.go for the maths.
//
//   y[b, Y(u), X(v), n]  = f(bias[n] + Σ_{t, s, k} x[b, …, k] w[…, k, n])      forward; f: sums, scale, activation (Params)
//                       += Σ …                                              backward_x, over transposed weights
//   dw[…, k, n]          = Σ_{b, u, v} x[b, …, k] dy[b, …, n]               backward_weight
//
// Position u of an axis and tap t read x at u x_step + x_start + t x_tap (zero outside), write y at u y_step + y_start, and
// use the weight at w_start + t w_tap.

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;
const ACTIVATION: u32 = 0u; // 1 ReLU, 2 GELU, 3 sigmoid

struct Axis {
  count: i32, // positions u
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
  inputs: u32,   // channels of x
  outputs: u32,  // channels of y
  has_bias: u32, // 1: y starts from bias (C); 2: the sum is scaled by bias[0] and shifted by bias[1], of (2, C)
  adds: u32,     // what is added to the result: & 3: 1, what y holds; 2, the residual; 3, the residual, before scale and shift; & 4: the
                 // shortcut, after the activation
  parts: u32,    // backward_weight: parts of the sum, each with a result of its own; forward: phases of either axis, one a group.z:
                 // each begins a weight and a pixel of y further
  chunk: u32,    // pixels (b, u, v) of one part
  activation: u32, // ACTIVATION
  rows: Axis,
  cols: Axis,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read> w: array<real>;
@group(0) @binding(3) var<storage, read> bias: array<real>;
@group(0) @binding(4) var<storage, read> residual: array<real>;
@group(0) @binding(5) var<storage, read> shortcut: array<real>;
@group(0) @binding(6) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dw: array<f32>;

// activated is the activation of activation.wgsl that the result goes through.
fn activated(v: f32) -> f32 {
  if (ACTIVATION == 1u) { return select(v, 0.0, v <= 0.0); }
  if (ACTIVATION == 2u) {
    let a = abs(v) * 0.70710678;
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return v * 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
  }
  if (ACTIVATION == 3u) { return 1.0 / (1.0 + exp(-v)); }
  return v;
}

@compute @workgroup_size(SIZE)
fn conv2d_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
  let i = i32((group.y * groups.x + group.x) * SIZE + local);
  let r = params.rows;
  let c = params.cols;
  let inputs = i32(params.inputs);
  let outputs = i32(params.outputs);
  let n = i % outputs;
  let v = (i / outputs) % c.count;
  let u = (i / outputs / c.count) % r.count;
  let b = i / outputs / c.count / r.count;
  if (b >= i32(params.batch)) { return; }
  let phase = vec2<i32>(vec2<u32>(group.z / params.parts, group.z % params.parts));
  var sum = 0.0;
  if (params.has_bias == 1u) { sum = f32(bias[n]); }
  for (var t = 0; t < r.taps; t++) {
    let row = u * r.x_step + r.x_start + t * r.x_tap;
    if ((row < 0) | (row >= r.x_size)) { continue; }
    for (var s = 0; s < c.taps; s++) {
      let col = v * c.x_step + c.x_start + s * c.x_tap;
      if ((col < 0) | (col >= c.x_size)) { continue; }
      let from_x = ((b * r.x_size + row) * c.x_size + col) * inputs;
      let from_w = ((r.w_start + phase.x + t * r.w_tap) * c.w_size + c.w_start + phase.y + s * c.w_tap) * inputs * outputs + n;
      for (var k = 0; k < inputs; k++) { sum += f32(x[from_x + k]) * f32(w[from_w + k * outputs]); }
    }
  }
  let row = b * r.y_size + u * r.y_step + r.y_start + phase.x;
  let to = (row * c.y_size + v * c.y_step + c.y_start + phase.y) * outputs + n;
  let adds = params.adds & 3u;
  if (adds == 3u) { sum += f32(residual[to]); }
  if (params.has_bias == 2u) { sum = sum * f32(bias[n]) + f32(bias[outputs + n]); }
  if (adds == 1u) { sum += f32(y[to]); }
  if (adds == 2u) { sum += f32(residual[to]); }
  sum = activated(sum);
  if ((params.adds & 4u) != 0u) { sum += f32(shortcut[to]); }
  y[to] = real(sum);
}

@compute @workgroup_size(SIZE)
fn conv2d_backward_weight(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                          @builtin(local_invocation_index) local: u32) {
  let i = i32((group.y * groups.x + group.x) * SIZE + local);
  let r = params.rows;
  let c = params.cols;
  let inputs = i32(params.inputs);
  let outputs = i32(params.outputs);
  let n = i % outputs;
  let k = (i / outputs) % inputs;
  let s = (i / outputs / inputs) % c.taps;
  let t = (i / outputs / inputs / c.taps) % r.taps;
  let split = i / outputs / inputs / c.taps / r.taps;
  if (split >= i32(params.parts)) { return; }
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
      sum += f32(x[((b * r.x_size + row) * c.x_size + col) * inputs + k]) * dy[pixel * outputs + n];
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
  let tap = ((split * r.w_size + r.w_start + t * r.w_tap) * c.w_size + c.w_start + s * c.w_tap);
  let to = (tap * inputs + k) * outputs + n;
  if (params.adds == 1u) { sum += dw[to]; }
  dw[to] = sum;
}
