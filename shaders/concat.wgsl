// Concatenation of the last extents: y (rows, A + B) = a (rows, A) beside b (rows, B).
//
//   concat_forward    y[r, :A] = a[r],  y[r, A:] = b[r]
//   split_forward     back from y to a and b
//   concat_backward   dx[r, c] += dy[r, offset + c], for x = a (offset 0) and x = b (offset A)
//
// and slices of rows: y (rows, part) = a (rows, columns) from offset on.
//
//   slice_forward     y[r, c] = a[r, offset + c]
//   slice_backward    dx[r, offset + c] += dy[r, c]    also for what split_forward makes
//
// An invocation keeps its column and visits every chunks-th row.

alias real = f32; // what storage holds; f16 where a plan asks for it
const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  columns: u32, // A + B
  part: u32,    // concat_forward, split_forward: A; else columns of what is shorter
  offset: u32,
  chunks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<real>;
@group(0) @binding(2) var<storage, read> b: array<real>;
@group(0) @binding(3) var<storage, read_write> y: array<real>;
@group(0) @binding(2) var<storage, read_write> slice: array<real>;
@group(0) @binding(1) var<storage, read> both: array<real>;
@group(0) @binding(2) var<storage, read_write> left: array<real>;
@group(0) @binding(3) var<storage, read_write> right: array<real>;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read_write> dx: array<f32>;

@compute @workgroup_size(SIZE)
fn concat_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.chunks * params.columns) { return; }
  let c = i % params.columns;
  let rest = params.columns - params.part;
  for (var row = i / params.columns; row < params.rows; row += params.chunks) {
    if (c < params.part) {
      y[row * params.columns + c] = a[row * params.part + c];
    } else {
      y[row * params.columns + c] = b[row * rest + c - params.part];
    }
  }
}

@compute @workgroup_size(SIZE)
fn split_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.chunks * params.columns) { return; }
  let c = i % params.columns;
  let rest = params.columns - params.part;
  for (var row = i / params.columns; row < params.rows; row += params.chunks) {
    if (c < params.part) {
      left[row * params.part + c] = both[row * params.columns + c];
    } else {
      right[row * rest + c - params.part] = both[row * params.columns + c];
    }
  }
}

@compute @workgroup_size(SIZE)
fn concat_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                   @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.chunks * params.part) { return; }
  let c = i % params.part;
  for (var row = i / params.part; row < params.rows; row += params.chunks) {
    dx[row * params.part + c] += dy[row * params.columns + params.offset + c];
  }
}

@compute @workgroup_size(SIZE)
fn slice_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                 @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.chunks * params.part) { return; }
  let c = i % params.part;
  for (var row = i / params.part; row < params.rows; row += params.chunks) {
    slice[row * params.part + c] = a[row * params.columns + params.offset + c];
  }
}

@compute @workgroup_size(SIZE)
fn slice_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
                  @builtin(local_invocation_index) local: u32) {
  let i = (group.y * groups.x + group.x) * SIZE + local;
  if (i >= params.chunks * params.part) { return; }
  let c = i % params.part;
  for (var row = i / params.part; row < params.rows; row += params.chunks) {
    dx[row * params.columns + params.offset + c] += dy[row * params.part + c];
  }
}
