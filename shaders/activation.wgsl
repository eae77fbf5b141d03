// Activations, element by element, over N elements of any shape.
//
//   relu     y = max(x, 0)                        dx += dy [x > 0]
//   gelu     y = x Φ(x), Φ the normal distribution (Hendrycks & Gimpel 2016, the exact form)
//                                                 dx += dy (Φ(x) + x φ(x))
//   sigmoid  y = 1 / (1 + e^-x)                   dx += dy y (1 - y)
//
// In two widths: joined with widths_singles.wgsl or widths_quads.wgsl, and with activation_functions.wgsl, which has erf.

alias real = f32; // what storage holds; f16 where a plan asks for it
alias real4 = vec4<f32>;
const SIZE: u32 = 64u;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<stored>; // forward: input; backward: input (relu, gelu) or output (sigmoid)
@group(0) @binding(2) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read_write> dx: array<stored>;

fn normal_cdf(v: floats) -> floats {
  let a = v * 0.70710678;
  return 0.5 * (1.0 + sign(a) * erf_above(abs(a)));
}

@compute @workgroup_size(SIZE)
fn relu_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  y[i] = stored(select(v, floats(), v <= floats())); // a NaN passes, unlike with max()
}

@compute @workgroup_size(SIZE)
fn relu_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i * WIDTH >= params.n) { return; }
  dx[i] = stored(floats(dx[i]) + select(floats(), floats(dy[i]), floats(x[i]) > floats()));
}

@compute @workgroup_size(SIZE)
fn gelu_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  y[i] = stored(v * normal_cdf(v));
}

@compute @workgroup_size(SIZE)
fn gelu_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i * WIDTH >= params.n) { return; }
  let v = floats(x[i]);
  dx[i] = stored(floats(dx[i]) + floats(dy[i]) * (normal_cdf(v) + v * 0.39894228 * exp(-0.5 * v * v)));
}

@compute @workgroup_size(SIZE)
fn sigmoid_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i * WIDTH >= params.n) { return; }
  y[i] = stored(1.0 / (1.0 + exp(-floats(x[i]))));
}

@compute @workgroup_size(SIZE)
fn sigmoid_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                    @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i * WIDTH >= params.n) { return; }
  let p = floats(x[i]);
  dx[i] = stored(floats(dx[i]) + floats(dy[i]) * p * (1.0 - p));
}
