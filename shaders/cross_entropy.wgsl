// Binary cross-entropy of probabilities p against targets t, element by element (PAPER.md §3.8, §3.12).
//
//   l = -(t log p̂ + (1 - t) log(1 - p̂)),  p̂ = clamp(p, low, 1 - low)      dp += (p̂ - t) / (p̂ (1 - p̂)) dl
//
// The gradient passes the clamp: a saturated p is still pulled back. No gradient by t. N elements of any shape.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  low: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> p: array<f32>;
@group(0) @binding(2) var<storage, read> t: array<f32>;
@group(0) @binding(3) var<storage, read_write> l: array<f32>;
@group(0) @binding(3) var<storage, read> dl: array<f32>;
@group(0) @binding(4) var<storage, read_write> dp: array<f32>;

@compute @workgroup_size(SIZE)
fn cross_entropy_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let q = clamp(p[i], params.low, 1.0 - params.low);
  l[i] = -(t[i] * log(q) + (1.0 - t[i]) * log(1.0 - q));
}

@compute @workgroup_size(SIZE)
fn cross_entropy_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                          @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  let q = clamp(p[i], params.low, 1.0 - params.low);
  dp[i] += (q - t[i]) / (q * (1.0 - q)) * dl[i];
}
