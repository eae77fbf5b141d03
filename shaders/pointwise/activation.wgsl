// Activations, element by element, over N elements of any shape.
//
//   relu     y = max(x, 0)                        dx += dy [y > 0]
//   relu6    y = min(max(x, 0), 6)                dx += dy [0 < y < 6]
//   gelu     y = x Φ(x), Φ the normal distribution (Hendrycks & Gimpel 2016, the exact form)
//                                                 dx += dy (Φ(x) + x φ(x))
//   sigmoid  y = 1 / (1 + e^-x)                   dx += dy y (1 - y)
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH, and activated, the function of one
// number (tensor.Scalar) that activation_forward applies.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// forward: input; backward: output (relu, relu6, sigmoid) or input (gelu)
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dx: array<stored>;

// normal_cdf is Φ, with erf by Abramowitz & Stegun 7.1.26, whose absolute error is below 1.5e-7.
fn normal_cdf(v: floats) -> floats {
  let a = abs(v) * 0.70710678;
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 0.5 * (1.0 + sign(v) * (1.0 - poly * exp(-a * a)));
}

@compute @workgroup_size(SIZE)
fn activation_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(activated(floats(x[i])));
}

@compute @workgroup_size(SIZE)
fn relu_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  dx[i] = stored(select(floats(dx[i]), floats(), FRESH) + select(floats(), floats(dy[i]), floats(x[i]) > floats()));
}

@compute @workgroup_size(SIZE)
fn relu6_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  dx[i] = stored(select(floats(dx[i]), floats(), FRESH) + select(floats(), select(floats(), floats(dy[i]), v < floats(6.0)), v > floats()));
}

@compute @workgroup_size(SIZE)
fn gelu_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  dx[i] = stored(select(floats(dx[i]), floats(), FRESH) + floats(dy[i]) * (normal_cdf(v) + v * 0.39894228 * exp(-0.5 * v * v)));
}

@compute @workgroup_size(SIZE)
fn sigmoid_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let p = floats(x[i]);
  dx[i] = stored(select(floats(dx[i]), floats(), FRESH) + floats(dy[i]) * p * (1.0 - p));
}
