// Operators whose gradient passes straight through, dx += dy, over N elements of any shape.
//
//   threshold  y = [x > low]                 the paper's T₀.₅ (PAPER.md §3.8)
//   clamp      y = min(max(x, low), high)    an estimate kept clear of 0 and 1 before a logarithm (§3.4)

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  low: f32,
  high: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // backward: dy
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // backward: dx

@compute @workgroup_size(SIZE)
fn threshold_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = select(0.0, 1.0, x[i] > params.low);
}

@compute @workgroup_size(SIZE)
fn clamp_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = min(max(x[i], params.low), params.high);
}

@compute @workgroup_size(SIZE)
fn straight_through_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] += x[i];
}
