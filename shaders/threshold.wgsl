// Threshold with a straight-through gradient (PAPER.md §3.8, the paper's T₀.₅): y = [x > level], dx += dy.
// N elements of any shape.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  level: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // backward: dy
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // backward: dx

@compute @workgroup_size(SIZE)
fn threshold_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = select(0.0, 1.0, x[i] > params.level);
}

@compute @workgroup_size(SIZE)
fn threshold_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                      @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] += x[i];
}
