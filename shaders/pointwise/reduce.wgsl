// Column sums of a (rows, columns) matrix in a fixed order, so that they repeat bit by bit. If there
// are many rows, they are summed in two steps.
//
//   reduce_rows_partial   partials[p, c] = Σ_j x[p + j chunks, c]
//   reduce_rows_write     y[c]  = Σ_p x[p, c], p < chunks: of the partials, or of few rows
//   reduce_rows_add       y[c] += Σ_p x[p, c]
//   …_sliced              the same: the slices of a workgroup share the rows
//   spread_rows           dx[r, c] += dy[c]
//
// Neighbouring invocations read neighbouring elements, whatever the number of columns.
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH.

const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  columns: u32,
  chunks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// (rows, columns); second step: partials (chunks, columns); backward: dy
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read_write> y: array<floats>;

@compute @workgroup_size(SIZE)
fn reduce_rows_partial(id: Invocation) {
  let i = number(id, SIZE);
  let columns = params.columns / WIDTH;
  let step = params.chunks * columns;
  if (i >= step) { return; }
  let end = params.rows * columns;
  var sum = floats();
  let turns = (end - i + step - 1u) / step;
  for (var turn = 0u; turn < turns; turn++) { sum += floats(x[i + turn * step]); }
  y[i] = sum;
}

// total is the sum of one of n columns.
fn total(column: u32, n: u32) -> floats {
  var sum = floats();
  let chunks = params.chunks;
  for (var p = 0u; p < chunks; p++) { sum += floats(x[p * n + column]); }
  return sum;
}

@compute @workgroup_size(SIZE)
fn reduce_rows_write(id: Invocation) {
  let c = number(id, SIZE);
  let n = params.columns / WIDTH;
  if (c >= n) { return; }
  y[c] = total(c, n);
}

@compute @workgroup_size(SIZE)
fn reduce_rows_add(id: Invocation) {
  let c = number(id, SIZE);
  let n = params.columns / WIDTH;
  if (c >= n) { return; }
  y[c] = select(y[c], floats(), FRESH) + total(c, n);
}

// A workgroup has PLACES columns or quads, and SLICES invocations for each.
const PLACES: u32 = 8u;
const SLICES: u32 = 32u;

var<workgroup> slices: array<floats, 256>;

// sliced_total is total for the invocations of slice 0. All of the workgroup call it.
fn sliced_total(column: u32, n: u32, local: u32) -> floats {
  var sum = floats();
  let chunks = select(0u, params.chunks, column < n);
  for (var p = local / PLACES; p < chunks; p += SLICES) { sum += floats(x[p * n + column]); }
  slices[local] = sum;
  workgroupBarrier();
  if (local < PLACES) {
    for (var slice = 1u; slice < SLICES; slice++) { sum += slices[slice * PLACES + local]; }
  }
  return sum;
}

@compute @workgroup_size(256)
fn reduce_rows_write_sliced(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let n = params.columns / WIDTH;
  let c = group.x * PLACES + local % PLACES;
  let sum = sliced_total(c, n, local);
  if (local < PLACES && c < n) { y[c] = sum; }
}

@compute @workgroup_size(256)
fn reduce_rows_add_sliced(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let n = params.columns / WIDTH;
  let c = group.x * PLACES + local % PLACES;
  let sum = sliced_total(c, n, local);
  if (local < PLACES && c < n) { y[c] = select(y[c], floats(), FRESH) + sum; }
}

@compute @workgroup_size(SIZE)
fn spread_rows(id: Invocation) {
  let i = number(id, SIZE);
  let columns = params.columns / WIDTH;
  let step = params.chunks * columns;
  if (i >= step) { return; }
  let end = params.rows * columns;
  let add = floats(x[i % columns]);
  for (var at = i; at < end; at += step) { y[at] = select(y[at], floats(), FRESH) + add; }
}
