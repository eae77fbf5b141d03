// Sums and multiples, element by element, over N elements of any shape.
//
//   add             y = a + b
//   scale           y = factor a
//   add_scaled      dx += factor dy
//   add_broadcast   y[b, i] = a[b, i] + table[i], i < N / batch

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;

struct Params {
  n: u32,
  period: u32, // elements of the table
  factor: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<real>;
@group(0) @binding(2) var<storage, read> b: array<real>; // of add; the table of add_broadcast
@group(0) @binding(3) var<storage, read_write> sum: array<real>;
@group(0) @binding(2) var<storage, read_write> y: array<real>;

@compute @workgroup_size(SIZE)
fn add_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
               @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  sum[i] = real(f32(a[i]) + f32(b[i]));
}

@compute @workgroup_size(SIZE)
fn add_broadcast_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                         @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.period) { return; }
  let add = f32(b[i]);
  for (var at = i; at < params.n; at += params.period) { sum[at] = real(f32(a[at]) + add); }
}

@compute @workgroup_size(SIZE)
fn scale_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = real(params.factor * f32(a[i]));
}

@compute @workgroup_size(SIZE)
fn add_scaled(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
              @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.n) { return; }
  y[i] = real(f32(y[i]) + params.factor * f32(a[i]));
}
