// Column sums of a (rows, columns) matrix, in two steps and in a fixed order, so that they repeat bit by bit.
//
//   reduce_rows_partial   partials[p, c] = Σ_j x[p + j chunks, c]
//   reduce_rows_write     y[c]  = Σ_p partials[p, c]
//   reduce_rows_add       y[c] += Σ_p partials[p, c]
//   spread_rows           dx[r, c] += dy[c]
//
// Neighbouring invocations read neighbouring elements, whatever the number of columns.

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  columns: u32,
  chunks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>; // (rows, columns); second step: partials (chunks, columns); backward: dy
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(SIZE)
fn reduce_rows_partial(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                       @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.columns;
  if (i >= step) { return; }
  let end = params.rows * params.columns;
  var sum = 0.0;
  for (var at = i; at < end; at += step) { sum += f32(x[at]); }
  y[i] = sum;
}

fn total(column: u32) -> f32 {
  var sum = 0.0;
  for (var p = 0u; p < params.chunks; p++) { sum += f32(x[p * params.columns + column]); }
  return sum;
}

@compute @workgroup_size(SIZE)
fn reduce_rows_write(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                     @builtin(local_invocation_index) local: u32) {
  let c = (group.y * groups.x + group.x) * SIZE + local;
  if (c >= params.columns) { return; }
  y[c] = total(c);
}

@compute @workgroup_size(SIZE)
fn reduce_rows_add(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let c = (group.y * groups.x + group.x) * SIZE + local;
  if (c >= params.columns) { return; }
  y[c] += total(c);
}

@compute @workgroup_size(SIZE)
fn spread_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
               @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  let step = params.chunks * params.columns;
  if (i >= step) { return; }
  let end = params.rows * params.columns;
  let add = f32(x[i % params.columns]);
  for (var at = i; at < end; at += step) { y[at] += add; }
}
