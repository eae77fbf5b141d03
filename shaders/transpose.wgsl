// Transposition of `count` matrices: y[t, n, k] = x[t, k, n], x being (count, rows, columns).

const SIZE: u32 = 64u;

struct Params {
  count: u32,
  rows: u32,
  columns: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(SIZE)
fn transpose(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
             @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let k = i % params.rows;
  let n = (i / params.rows) % params.columns;
  let t = i / params.rows / params.columns;
  if (t >= params.count) { return; }
  y[i] = x[(t * params.rows + k) * params.columns + n];
}
