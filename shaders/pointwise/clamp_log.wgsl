// Logarithm of a probability kept away from zero (PAPER.md §2, w = log z̃; §3.4).
//
//   y = log(clamp(x, low, high))        dx += dy / x where low < x < high
//   y = log(clamp(x, low, high)) + b
//
// N elements of any shape.
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
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> b: array<stored>;
@group(0) @binding(3) var<storage, read_write> sum: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dx: array<stored>;

fn clamped(i: u32) -> floats { return log(clamp(floats(x[i]), floats(params.low), floats(params.high))); }

@compute @workgroup_size(SIZE)
fn clamp_log_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(clamped(i));
}

@compute @workgroup_size(SIZE)
fn clamp_log_add(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  sum[i] = stored(clamped(i) + floats(b[i]));
}

@compute @workgroup_size(SIZE)
fn clamp_log_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  let inside = (v > floats(params.low)) & (v < floats(params.high));
  dx[i] = stored(floats(dx[i]) + select(floats(), floats(dy[i]) / v, inside));
}
