// Activations, element by element, over N elements of any shape.
//
//   relu     y = max(x, 0)                        dx += dy [x > 0]
//   gelu     y = x Φ(x), Φ the normal distribution (Hendrycks & Gimpel 2016, the exact form)
//                                                 dx += dy (Φ(x) + x φ(x))
//   sigmoid  y = 1 / (1 + e^-x)                   dx += dy y (1 - y)
//
// Joined with activation_functions.wgsl, which has erf.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias floats = f32;
const SIZE: u32 = 64u;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>; // forward: input; backward: input (relu, gelu) or output (sigmoid)
@group(0) @binding(2) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read> dy: array<real>;
@group(0) @binding(3) var<storage, read_write> dx: array<real>;

fn normal_cdf(v: f32) -> f32 {
  let a = v * 0.70710678;
  return 0.5 * (1.0 + sign(a) * erf_above(abs(a)));
}

@compute @workgroup_size(SIZE)
fn relu_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let v = f32(x[i]);
  y[i] = real(select(v, 0.0, v <= 0.0)); // a NaN passes, unlike with max()
}

@compute @workgroup_size(SIZE)
fn relu_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  if (f32(x[i]) > 0.0) { dx[i] = real(f32(dx[i]) + f32(dy[i])); }
}

@compute @workgroup_size(SIZE)
fn gelu_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let v = f32(x[i]);
  y[i] = real(v * normal_cdf(v));
}

@compute @workgroup_size(SIZE)
fn gelu_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let v = f32(x[i]);
  dx[i] = real(f32(dx[i]) + f32(dy[i]) * (normal_cdf(v) + v * 0.39894228 * exp(-0.5 * v * v)));
}

@compute @workgroup_size(SIZE)
fn sigmoid_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = real(1.0 / (1.0 + exp(-f32(x[i]))));
}

@compute @workgroup_size(SIZE)
fn sigmoid_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                    @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let p = f32(x[i]);
  dx[i] = real(f32(dx[i]) + f32(dy[i]) * p * (1.0 - p));
}
