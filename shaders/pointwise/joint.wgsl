// Sums over rows of several sources, which are added to parts of one block of gradients (joint.go):
//
//   y[to + line (columns + gap) + column] += Σ_r x[from + r step + line stride + column], r < rows
//
// A workgroup belongs to one part. If the part has few rows, an invocation has a column or quad.
// Otherwise SLICES invocations share the rows of each, as in reduce.wgsl, and sums have that order.
//
// Header (go doc ./shaders): stored, floats, WIDTH.

const SIZE: u32 = 256u;
const SLICES: u32 = 32u;
const FEW: u32 = 16u; // rows
const SOURCES: u32 = 7u;

struct Part {
  rows: u32,
  step: u32,
  lines: u32,
  stride: u32,
  columns: u32,
  from_element: u32,
  to_element: u32,
  gap: u32,
}

struct Params {
  parts: array<Part, SOURCES>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x0: array<stored>;
@group(0) @binding(2) var<storage, read> x1: array<stored>;
@group(0) @binding(3) var<storage, read> x2: array<stored>;
@group(0) @binding(4) var<storage, read> x3: array<stored>;
@group(0) @binding(5) var<storage, read> x4: array<stored>;
@group(0) @binding(6) var<storage, read> x5: array<stored>;
@group(0) @binding(7) var<storage, read> x6: array<stored>;
@group(0) @binding(8) var<storage, read_write> y: array<floats>;

var<workgroup> slices: array<floats, SIZE>;

// places is how many columns or quads of a part a workgroup has.
fn places(part: u32) -> u32 { return select(SIZE / SLICES, SIZE, params.parts[part].rows <= FEW); }

// elements is how many columns or quads a part has.
fn elements(part: u32) -> u32 { return params.parts[part].lines * params.parts[part].columns / WIDTH; }

// total sums rows of a source. WGSL has no arrays of buffers.
fn total(source: u32, first: u32, step: u32, turns: u32) -> floats {
  var sum = floats();
  switch (source) {
    case 0u: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x0[first + turn * step]); } }
    case 1u: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x1[first + turn * step]); } }
    case 2u: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x2[first + turn * step]); } }
    case 3u: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x3[first + turn * step]); } }
    case 4u: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x4[first + turn * step]); } }
    case 5u: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x5[first + turn * step]); } }
    default: { for (var turn = 0u; turn < turns; turn++) { sum += floats(x6[first + turn * step]); } }
  }
  return sum;
}

@compute @workgroup_size(SIZE)
fn add_sums(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  var part = 0u;
  var group = id.x;
  for (; part < SOURCES - 1u; part++) {
    let groups = (elements(part) + places(part) - 1u) / places(part);
    if (group < groups) { break; }
    group -= groups;
  }
  let p = params.parts[part];
  let width = places(part);
  let i = group * width + local % width;
  let inside = i < elements(part);
  let columns = p.columns / WIDTH;
  let first = local / width;
  let at = (p.from_element + first * p.step + i / columns * p.stride) / WIDTH + i % columns;
  let by = SIZE / width;
  let turns = select(0u, (p.rows - min(p.rows, first) + by - 1u) / by, inside);
  var sum = total(part, at, by * p.step / WIDTH, turns);
  slices[local] = sum;
  workgroupBarrier();
  if (local >= width || !inside) { return; }
  for (var slice = 1u; slice < by; slice++) { sum += slices[slice * width + local]; }
  let to = (p.to_element + i / columns * p.gap) / WIDTH + i;
  y[to] = select(y[to], floats(), FRESH) + sum;
}
