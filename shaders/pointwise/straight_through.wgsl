// Operators whose gradient passes straight through, dx += dy, over N elements of any shape.
//
//   threshold  y = [x > low]                 the paper's T₀.₅ (PAPER.md §3.8)
//   clamp      y = min(max(x, low), high)    an estimate kept clear of 0 and 1 before a logarithm
//     (§3.4)
//
// Header: Invocation (number(id, SIZE) is the index of its element), stored and floats (what an
// invocation reads and what it computes with: real4 and vec4<f32>, or real and f32) and WIDTH (how
// many numbers that is: 4 or 1).

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  low: f32,
  high: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<stored>; // backward: dy
@group(0) @binding(2) var<storage, read_write> y: array<stored>; // backward: dx

@compute @workgroup_size(SIZE)
fn threshold_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(select(floats(), floats(1.0), floats(x[i]) > floats(params.low)));
}

@compute @workgroup_size(SIZE)
fn clamp_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(min(max(floats(x[i]), floats(params.low)), floats(params.high)));
}

@compute @workgroup_size(SIZE)
fn straight_through_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(floats(y[i]) + floats(x[i]));
}
