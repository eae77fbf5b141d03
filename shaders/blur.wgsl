// Gaussian window along one axis, zeros outside the image; called twice it is the square window of SSIM and of disputed pixels.
//
//   y[o,q,i] = Σ_t g_t x[o,q+t-R,i],   g_t ∝ e^(-(t-R)²/2σ²), Σ g = 1, t = 0 … 2R
//
// x, y (outer, length, inner). The window is symmetric, so the gradient is the same sum: dx += blur(dy).

const SIZE: u32 = 64u;

struct Params {
  outer: u32,
  length: u32,
  inner: u32,
  radius: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> window: array<f32>; // 2R + 1
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

fn blurred(i: u32) -> f32 {
  let q = i32(i / params.inner % params.length);
  let radius = i32(params.radius);
  let first = max(0, radius - q);
  let last = min(2 * radius, i32(params.length) - 1 - q + radius);
  var sum = 0.0;
  for (var t = first; t <= last; t++) {
    sum += window[t] * x[u32(i32(i) + (t - radius) * i32(params.inner))];
  }
  return sum;
}

@compute @workgroup_size(SIZE)
fn blur_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.outer * params.length * params.inner) { return; }
  y[i] = blurred(i);
}

@compute @workgroup_size(SIZE)
fn blur_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.outer * params.length * params.inner) { return; }
  y[i] += blurred(i);
}
