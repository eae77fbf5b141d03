// Conversion between f32 and the storage of a plan's halves, element by element, over N elements of
// any shape.
//
//   narrow   y = x, rounded to a half
//   widen    y = x;   dx += dy, rounded to a half
//
// Header (go doc ./shaders): Invocation, real.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // backward: dy
@group(0) @binding(2) var<storage, read_write> y: array<real>; // backward: dx
@group(0) @binding(1) var<storage, read> half_x: array<real>;
@group(0) @binding(2) var<storage, read_write> full_y: array<f32>;

@compute @workgroup_size(SIZE)
fn narrow(id: Invocation) {
  let i = number(id, SIZE);
  if (i < params.n) { y[i] = real(x[i]); }
}

@compute @workgroup_size(SIZE)
fn widen_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i < params.n) { full_y[i] = f32(half_x[i]); }
}

@compute @workgroup_size(SIZE)
fn widen_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i < params.n) { y[i] = real(select(f32(y[i]), 0.0, FRESH) + x[i]); }
}
