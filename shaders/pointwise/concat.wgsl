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
// An invocation keeps its column and visits every chunks-th row. Columns, part and offset are
// multiples of WIDTH.
//
// Header (go doc ./shaders): Invocation, stored, floats, WIDTH.

const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  columns: u32, // A + B
  part: u32,    // concat_forward, split_forward: A; otherwise columns of the narrower matrix
  offset: u32,
  chunks: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<stored>;
@group(0) @binding(2) var<storage, read> b: array<stored>;
@group(0) @binding(3) var<storage, read_write> y: array<stored>;
@group(0) @binding(2) var<storage, read_write> slice: array<stored>;
@group(0) @binding(1) var<storage, read> both: array<stored>;
@group(0) @binding(2) var<storage, read_write> left: array<stored>;
@group(0) @binding(3) var<storage, read_write> right: array<stored>;
@group(0) @binding(1) var<storage, read> dy: array<stored>;
@group(0) @binding(2) var<storage, read_write> dx: array<stored>;

// Extents are those of Params in elements of storage.
struct Extents {
  columns: u32,
  part: u32,
  offset: u32,
}

fn extents() -> Extents { return Extents(params.columns / WIDTH, params.part / WIDTH, params.offset / WIDTH); }

@compute @workgroup_size(SIZE)
fn concat_forward(id: Invocation) {
  let i = number(id, SIZE);
  let p = extents();
  if (i >= params.chunks * p.columns) { return; }
  let c = i % p.columns;
  let rest = p.columns - p.part;
  for (var row = i / p.columns; row < params.rows; row += params.chunks) {
    if (c < p.part) {
      y[row * p.columns + c] = a[row * p.part + c];
    } else {
      y[row * p.columns + c] = b[row * rest + c - p.part];
    }
  }
}

@compute @workgroup_size(SIZE)
fn split_forward(id: Invocation) {
  let i = number(id, SIZE);
  let p = extents();
  if (i >= params.chunks * p.columns) { return; }
  let c = i % p.columns;
  let rest = p.columns - p.part;
  for (var row = i / p.columns; row < params.rows; row += params.chunks) {
    if (c < p.part) {
      left[row * p.part + c] = both[row * p.columns + c];
    } else {
      right[row * rest + c - p.part] = both[row * p.columns + c];
    }
  }
}

@compute @workgroup_size(SIZE)
fn concat_backward(id: Invocation) {
  let i = number(id, SIZE);
  let p = extents();
  if (i >= params.chunks * p.part) { return; }
  let c = i % p.part;
  for (var row = i / p.part; row < params.rows; row += params.chunks) {
    let at = row * p.part + c;
    dx[at] = stored(select(floats(dx[at]), floats(), FRESH) + floats(dy[row * p.columns + p.offset + c]));
  }
}

@compute @workgroup_size(SIZE)
fn slice_forward(id: Invocation) {
  let i = number(id, SIZE);
  let p = extents();
  if (i >= params.chunks * p.part) { return; }
  let c = i % p.part;
  for (var row = i / p.part; row < params.rows; row += params.chunks) {
    slice[row * p.part + c] = a[row * p.columns + p.offset + c];
  }
}

@compute @workgroup_size(SIZE)
fn slice_backward(id: Invocation) {
  let i = number(id, SIZE);
  let p = extents();
  if (i >= params.chunks * p.part) { return; }
  let c = i % p.part;
  for (var row = i / p.part; row < params.rows; row += params.chunks) {
    let at = row * p.columns + p.offset + c;
    dx[at] = stored(floats(dx[at]) + floats(dy[row * p.part + c]));
  }
}
