// Activations, element by element, over N elements of any shape.
//
//   relu     y = max(x, 0)                        dx += dy [x > 0]
//   relu6    y = min(max(x, 0), 6)                dx += dy [0 < x < 6]
//   gelu     y = x Φ(x), Φ the normal distribution (Hendrycks & Gimpel 2016, the exact form)
//                                                 dx += dy (Φ(x) + x φ(x))
//   sigmoid  y = 1 / (1 + e^-x)                   dx += dy y (1 - y)
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// forward: input; backward: input (relu, relu6, gelu) or output (sigmoid)
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dx: array<stored>;

// erf_above is erf of a, which is not negative, by Abramowitz & Stegun 7.1.26: its absolute error
// is below 1.5e-7.
fn erf_above(a: floats) -> floats {
  let t = 1.0 / (1.0 + 0.3275911 * a);
  let poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return 1.0 - poly * exp(-a * a);
}

fn normal_cdf(v: floats) -> floats {
  let a = v * 0.70710678;
  return 0.5 * (1.0 + sign(a) * erf_above(abs(a)));
}

@compute @workgroup_size(SIZE)
fn relu_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  y[i] = stored(select(v, floats(), v <= floats())); // max() would drop a NaN
}

@compute @workgroup_size(SIZE)
fn relu_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  dx[i] = stored(floats(dx[i]) + select(floats(), floats(dy[i]), floats(x[i]) > floats()));
}

@compute @workgroup_size(SIZE)
fn relu6_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  y[i] = stored(select(select(v, floats(), v <= floats()), floats(6.0), v >= floats(6.0)));
}

@compute @workgroup_size(SIZE)
fn relu6_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  dx[i] = stored(floats(dx[i]) + select(floats(), select(floats(), floats(dy[i]), v < floats(6.0)), v > floats()));
}

@compute @workgroup_size(SIZE)
fn gelu_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  y[i] = stored(v * normal_cdf(v));
}

@compute @workgroup_size(SIZE)
fn gelu_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  dx[i] = stored(floats(dx[i]) + floats(dy[i]) * (normal_cdf(v) + v * 0.39894228 * exp(-0.5 * v * v)));
}

@compute @workgroup_size(SIZE)
fn sigmoid_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(1.0 / (1.0 + exp(-floats(x[i]))));
}

@compute @workgroup_size(SIZE)
fn sigmoid_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let p = floats(x[i]);
  dx[i] = stored(floats(dx[i]) + floats(dy[i]) * p * (1.0 - p));
}
