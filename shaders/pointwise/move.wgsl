// Elements of one block of parameters, moved to y by a table of parts (move.go). A part either has
// lines of x to copy,
//
//   y[to + line step + column] = x[from + line stride + column], or 0 if the stride is 0
//
// or matrices (lines, columns) side by side, which it transposes. All numbers of a part are
// multiples of four, except those of lines to copy and of matrices. A workgroup belongs to one
// part. An invocation moves a quad, or a block of 4 × 4.
//
// Header (go doc ./shaders): Invocation, real4.

const SIZE: u32 = 64u;

struct Params {
  parts: u32,
  groups: u32,
}

struct Part {
  matrices: u32, // 0: lines are copied
  step: u32,
  lines: u32,
  stride: u32,
  columns: u32,
  from_element: u32,
  to_element: u32,
  first: u32, // workgroup
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<real4>;
@group(0) @binding(2) var<storage, read> parts: array<Part>;
@group(0) @binding(3) var<storage, read_write> y: array<real4>;

@compute @workgroup_size(SIZE)
fn move_elements(id: Invocation) {
  let group = id.group.y * id.groups.x + id.group.x;
  if (group >= params.groups) { return; }
  var low = 0u;
  var high = params.parts;
  while (high - low > 1u) { // parts[low].first <= group < parts[high].first
    let middle = (low + high) / 2u;
    if (parts[middle].first <= group) { low = middle; } else { high = middle; }
  }
  let p = parts[low];
  let i = (group - p.first) * SIZE + id.local;
  let columns = p.columns / 4u;
  let column = i % columns;
  if (p.matrices == 0u) {
    let line = i / columns;
    let from_quad = select(0u, (p.from_element + line * p.stride) / 4u + column, p.stride > 0u);
    if (line < p.lines) { y[(p.to_element + line * p.step) / 4u + column] = select(real4(), x[from_quad], p.stride > 0u); }
    return;
  }
  let lines = p.lines / 4u;
  let line = i % lines;
  let n = i / lines % columns;
  let matrix = i / lines / columns;
  if (matrix >= p.matrices) { return; }
  let at = p.from_element / 4u + (matrix * p.lines + line * 4u) * columns + n;
  let a = x[at];
  let b = x[at + columns];
  let c = x[at + 2u * columns];
  let d = x[at + 3u * columns];
  let to = p.to_element / 4u + (matrix * p.columns + n * 4u) * lines + line;
  y[to] = real4(a.x, b.x, c.x, d.x);
  y[to + lines] = real4(a.y, b.y, c.y, d.y);
  y[to + 2u * lines] = real4(a.z, b.z, c.z, d.z);
  y[to + 3u * lines] = real4(a.w, b.w, c.w, d.w);
}
