// Logarithm of a probability kept away from zero (PAPER.md §2, w = log z̃; §3.4).
//
//   y = log(clamp(x, low, high))        dx += dy / x where low < x < high
//   y = log(clamp(x, low, high)) + b
//
// N elements of any shape.

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;

struct Params {
  n: u32,
  low: f32,
  high: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read> b: array<real>;
@group(0) @binding(3) var<storage, read_write> sum: array<real>;
@group(0) @binding(2) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read_write> dx: array<f32>;

fn clamped(i: u32) -> f32 { return log(clamp(f32(x[i]), params.low, params.high)); }

@compute @workgroup_size(SIZE)
fn clamp_log_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = real(clamped(i));
}

@compute @workgroup_size(SIZE)
fn clamp_log_add(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  sum[i] = real(clamped(i) + f32(b[i]));
}

@compute @workgroup_size(SIZE)
fn clamp_log_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let v = f32(x[i]);
  if (v > params.low && v < params.high) { dx[i] += dy[i] / v; }
}
