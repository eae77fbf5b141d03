// Transposition of `count` matrices: y[t, n, k] = x[t, k, n], x being (count, rows, columns).
//
// Header (go doc ./shaders): Invocation, real4, real.

const SIZE: u32 = 64u;

struct Params {
  count: u32,
  rows: u32,
  columns: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real>;
@group(0) @binding(2) var<storage, read_write> y: array<real>;
@group(0) @binding(1) var<storage, read> quads_x: array<real4>;
@group(0) @binding(2) var<storage, read_write> quads_y: array<real4>;

// transpose takes any size, an element an invocation.
@compute @workgroup_size(SIZE)
fn transpose(id: Invocation) {
  let i = number(id, SIZE);
  let k = i % params.rows;
  let n = (i / params.rows) % params.columns;
  let t = i / params.rows / params.columns;
  if (t >= params.count) { return; }
  y[i] = x[(t * params.rows + k) * params.columns + n];
}

// transpose_quads needs rows and columns that are multiples of four; a block of 4 × 4 an
// invocation.
@compute @workgroup_size(SIZE)
fn transpose_quads(id: Invocation) {
  let i = number(id, SIZE);
  let rows = params.rows / 4u;
  let columns = params.columns / 4u;
  let k = i % rows;
  let n = (i / rows) % columns;
  let t = i / rows / columns;
  if (t >= params.count) { return; }
  let at = (t * params.rows + k * 4u) * columns + n;
  let a = quads_x[at];
  let b = quads_x[at + columns];
  let c = quads_x[at + 2u * columns];
  let d = quads_x[at + 3u * columns];
  let to = (t * params.columns + n * 4u) * rows + k;
  quads_y[to] = real4(a.x, b.x, c.x, d.x);
  quads_y[to + rows] = real4(a.y, b.y, c.y, d.y);
  quads_y[to + 2u * rows] = real4(a.z, b.z, c.z, d.z);
  quads_y[to + 3u * rows] = real4(a.w, b.w, c.w, d.w);
}
