// Structural similarity (Wang et al. 2004; PAPER.md §3.9) of maps a and b of N elements, windowed moments by blur.wgsl.
//
//   moments   m = (a, b, a², b², ab), stored (5, N)       da += dm₀ + 2a dm₂ + b dm₄,  db += dm₁ + 2b dm₃ + a dm₄
//   loss      l = 1 - S,  S = (2 μa μb + C1)(2 σab + C2) / ((μa² + μb² + C1)(σa² + σb² + C2))
//             from blurred moments m: μa = m₀, μb = m₁, σa² = m₂ - μa², σb² = m₃ - μb², σab = m₄ - μa μb
//
// C1 = 0.01², C2 = 0.03² for values in 0..1.

const SIZE: u32 = 64u;
const C1: f32 = 0.0001;
const C2: f32 = 0.0009;

struct Params {
  n: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>; // or the blurred moments
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> moments: array<f32>;
@group(0) @binding(3) var<storage, read> dmoments: array<f32>;
@group(0) @binding(4) var<storage, read_write> da: array<f32>;

@group(0) @binding(2) var<storage, read_write> loss: array<f32>;
@group(0) @binding(2) var<storage, read> dloss: array<f32>;
@group(0) @binding(3) var<storage, read_write> da_moments: array<f32>;

@compute @workgroup_size(SIZE)
fn ssim_moments_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                        @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let n = params.n;
  if (i >= n) { return; }
  moments[i] = a[i];
  moments[n + i] = b[i];
  moments[2u * n + i] = a[i] * a[i];
  moments[3u * n + i] = b[i] * b[i];
  moments[4u * n + i] = a[i] * b[i];
}

@compute @workgroup_size(SIZE)
fn ssim_moments_backward_a(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                           @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let n = params.n;
  if (i >= n) { return; }
  da[i] += dmoments[i] + 2.0 * a[i] * dmoments[2u * n + i] + b[i] * dmoments[4u * n + i];
}

@compute @workgroup_size(SIZE)
fn ssim_moments_backward_b(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                           @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let n = params.n;
  if (i >= n) { return; }
  da[i] += dmoments[n + i] + 2.0 * b[i] * dmoments[3u * n + i] + a[i] * dmoments[4u * n + i];
}

@compute @workgroup_size(SIZE)
fn ssim_loss_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let n = params.n;
  if (i >= n) { return; }
  let mean_a = a[i];
  let mean_b = a[n + i];
  let l = 2.0 * mean_a * mean_b + C1;
  let c = 2.0 * (a[4u * n + i] - mean_a * mean_b) + C2;
  let p = mean_a * mean_a + mean_b * mean_b + C1;
  let q = a[2u * n + i] - mean_a * mean_a + a[3u * n + i] - mean_b * mean_b + C2;
  loss[i] = 1.0 - l * c / (p * q);
}

@compute @workgroup_size(SIZE)
fn ssim_loss_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let n = params.n;
  if (i >= n) { return; }
  let mean_a = a[i];
  let mean_b = a[n + i];
  let l = 2.0 * mean_a * mean_b + C1;
  let c = 2.0 * (a[4u * n + i] - mean_a * mean_b) + C2;
  let p = mean_a * mean_a + mean_b * mean_b + C1;
  let q = a[2u * n + i] - mean_a * mean_a + a[3u * n + i] - mean_b * mean_b + C2;
  let s = l * c / (p * q);
  let g = -dloss[i]; // by S
  // S as a function of l, c, p, q; each of those as a function of the moments.
  let by_l = g * c / (p * q);
  let by_c = g * l / (p * q);
  let by_p = -g * s / p;
  let by_q = -g * s / q;
  da_moments[i] += 2.0 * mean_b * (by_l - by_c) + 2.0 * mean_a * (by_p - by_q);
  da_moments[n + i] += 2.0 * mean_a * (by_l - by_c) + 2.0 * mean_b * (by_p - by_q);
  da_moments[2u * n + i] += by_q;
  da_moments[3u * n + i] += by_q;
  da_moments[4u * n + i] += 2.0 * by_c;
}
