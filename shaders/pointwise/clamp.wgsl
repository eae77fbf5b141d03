// Clamping, over N elements of any shape.
//
//   clamp          y = min(max(x, low), high)           dx += dy, straight through (PAPER.md §3.4)
//   threshold      y = [x > low], the paper's T₀.₅      dx += dy, straight through (§3.8)
//   clamp_log      y = log(clamp(x, low, high))         dx += dy / x where low < x < high
//   clamp_log_add  y = log(clamp(x, low, high)) + b
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH.

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

fn clamped_log(i: u32) -> floats { return log(clamp(floats(x[i]), floats(params.low), floats(params.high))); }

@compute @workgroup_size(SIZE)
fn clamp_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(min(max(floats(x[i]), floats(params.low)), floats(params.high)));
}

@compute @workgroup_size(SIZE)
fn threshold_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(select(floats(), floats(1.0), floats(x[i]) > floats(params.low)));
}

@compute @workgroup_size(SIZE)
fn clamp_log_forward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(clamped_log(i));
}

@compute @workgroup_size(SIZE)
fn clamp_log_add(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  sum[i] = stored(clamped_log(i) + floats(b[i]));
}

@compute @workgroup_size(SIZE)
fn clamp_log_backward(id: Invocation) {
  let i = number(id, SIZE);
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  let inside = (v > floats(params.low)) & (v < floats(params.high));
  dx[i] = stored(select(floats(dx[i]), floats(), FRESH) + select(floats(), floats(dy[i]) / v, inside));
}
