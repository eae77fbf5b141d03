// Column sums of a (rows, columns) matrix, in two steps and in a fixed order, so that they repeat
// bit by bit.
//
//   reduce_rows_partial   partials[p, c] = Σ_j x[p + j chunks, c]
//   reduce_rows_write     y[c]  = Σ_p partials[p, c]
//   reduce_rows_add       y[c] += Σ_p partials[p, c]
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
