// The confidence ℓ under which labels are fused (PAPER.md §3.3), from DivP's estimate z̃ (B, P, M, K), P pixels.
//
//   likelihood  ℓ = z log z̃ + (1 - z) log(1 - z̃)      dz̃ += (z - z̃) / (z̃ (1 - z̃)) dℓ, multiplied by disputed[b,p,k]
//   agreement   ℓ = log(z̃ y + (1 - z̃)(1 - y))         dz̃ += (2y - 1) / (z̃ y + (1 - z̃)(1 - y)) dℓ
//   normalise   ℓ = n[b,p,m,k] / d[b,p,k] where d > 1e-12, else 0      dn += dℓ / d
//
// z (B, P, M, K) are labels; disputed, y and d (B, P, K). z̃ must lie inside (0, 1): it comes clamped.

const SIZE: u32 = 64u;

struct Params {
  n: u32, // B P M K
  raters: u32,
  classes: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // z̃, or n
@group(0) @binding(2) var<storage, read> other: array<f32>; // z; y; d
@group(0) @binding(3) var<storage, read> disputed: array<f32>;

@group(0) @binding(4) var<storage, read_write> likelihood: array<f32>;
@group(0) @binding(4) var<storage, read> dlikelihood: array<f32>;
@group(0) @binding(5) var<storage, read_write> likelihood_dx: array<f32>;

@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read> dy: array<f32>;
@group(0) @binding(4) var<storage, read_write> dx: array<f32>;

// Index of (b, p, k) for index i of (b, p, m, k).
fn without_rater(i: u32) -> u32 {
  return i / (params.classes * params.raters) * params.classes + i % params.classes;
}

@compute @workgroup_size(SIZE)
fn likelihood_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let p = x[i];
  let label = other[i];
  likelihood[i] = disputed[without_rater(i)] * (label * log(p) + (1.0 - label) * log(1.0 - p));
}

@compute @workgroup_size(SIZE)
fn likelihood_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let p = x[i];
  likelihood_dx[i] += disputed[without_rater(i)] * (other[i] - p) / (p * (1.0 - p)) * dlikelihood[i];
}

@compute @workgroup_size(SIZE)
fn agreement_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let p = x[i];
  let mask = other[without_rater(i)];
  y[i] = log(p * mask + (1.0 - p) * (1.0 - mask));
}

@compute @workgroup_size(SIZE)
fn agreement_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let p = x[i];
  let mask = other[without_rater(i)];
  dx[i] += (2.0 * mask - 1.0) / (p * mask + (1.0 - p) * (1.0 - mask)) * dy[i];
}

@compute @workgroup_size(SIZE)
fn normalise_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let d = other[without_rater(i)];
  y[i] = select(0.0, x[i] / d, d > 1e-12);
}

@compute @workgroup_size(SIZE)
fn normalise_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let d = other[without_rater(i)];
  if (d > 1e-12) { dx[i] += dy[i] / d; }
}
