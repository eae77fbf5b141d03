// Layer normalisation (Ba et al. 2016) of every row of x (rows, C).
//
//   μ = mean_c x     r = 1 / sqrt(mean_c (x - μ)² + eps)     x̂ = (x - μ) r     y = x̂ scale + bias
//   dx += r (g - mean_c g - x̂ mean_c (g x̂)),  g = dy scale
//   dscale += Σ_rows dy x̂     dbias += Σ_rows dy
//
// In the row kernels an invocation has a row, and visits WIDTH channels (a place) at a time. Sums
// over many rows are taken in chunks of interleaved rows. If there are few, layer_norm_backward does
// all: the slices of its first workgroups sum columns (reduce.wgsl), and the others have 64 rows each.
//
// Header: Invocation (number(id, SIZE) is the index of its element), stored, floats and WIDTH (what a
// place holds in storage and in sums: 4 or 1 channels) and added (the sum of a place).

const SIZE: u32 = 64u;

struct Params {
  rows: u32,
  channels: u32,
  chunks: u32,
  eps: f32,
  span: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// forward
@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read> scale: array<stored>;
@group(0) @binding(3) var<storage, read> bias: array<stored>;
@group(0) @binding(4) var<storage, read_write> y: array<stored>;
@group(0) @binding(5) var<storage, read_write> saved: array<f32>; // (rows / span, 2, span): μ, r
// backward; binding 1 is x
@group(0) @binding(2) var<storage, read> dy: array<stored>;
@group(0) @binding(3) var<storage, read> statistics: array<f32>; // as saved; the spans are passes
@group(0) @binding(4) var<storage, read> gain: array<stored>; // scale
@group(0) @binding(5) var<storage, read_write> dx: array<stored>;
// (2, chunks, C): sums of dy x̂, and of dy
@group(0) @binding(4) var<storage, read_write> partials: array<floats>;
// of few rows
@group(0) @binding(5) var<storage, read_write> dgain: array<floats>; // dscale and dbias
@group(0) @binding(6) var<storage, read_write> dshift: array<floats>;
@group(0) @binding(7) var<storage, read_write> dx_of_few: array<stored>;
@group(0) @binding(1) var<storage, read> sums: array<f32>; // the partials
@group(0) @binding(2) var<storage, read_write> dscale: array<f32>;
@group(0) @binding(3) var<storage, read_write> dbias: array<f32>;

fn place(row: u32) -> u32 { return row + row / params.span * params.span; }

@compute @workgroup_size(SIZE)
fn layer_norm_forward(id: Invocation) {
  let row = number(id, SIZE);
  if (row >= params.rows) { return; }
  let places = params.channels / WIDTH;
  let first = row * places;
  let n = f32(params.channels);
  var sum = floats();
  for (var c = 0u; c < places; c++) { sum += floats(x[first + c]); }
  let mean = added(sum) / n;
  var squares = floats();
  for (var c = 0u; c < places; c++) {
    let d = floats(x[first + c]) - mean;
    squares += d * d;
  }
  let r = inverseSqrt(added(squares) / n + params.eps);
  for (var c = 0u; c < places; c++) { y[first + c] = stored((floats(x[first + c]) - mean) * r * floats(scale[c]) + floats(bias[c])); }
  saved[place(row)] = mean;
  saved[place(row) + params.span] = r;
}

@compute @workgroup_size(SIZE)
fn layer_norm_backward_x(id: Invocation) {
  let row = number(id, SIZE);
  if (row >= params.rows) { return; }
  let places = params.channels / WIDTH;
  let first = row * places;
  let n = f32(params.channels);
  let mean = statistics[place(row)];
  let r = statistics[place(row) + params.span];
  var sum = floats();
  var products = floats();
  for (var c = 0u; c < places; c++) {
    let g = floats(dy[first + c]) * floats(gain[c]);
    sum += g;
    products += g * (floats(x[first + c]) - mean);
  }
  let a = added(sum) / n;
  let b = added(products) * r * r / n;
  for (var c = 0u; c < places; c++) {
    dx[first + c] = stored(select(floats(dx[first + c]), floats(), FRESH) + r * (floats(dy[first + c]) * floats(gain[c]) - a - (floats(x[first + c]) - mean) * b));
  }
}

@compute @workgroup_size(SIZE)
fn layer_norm_backward_partial(id: Invocation) {
  let i = number(id, SIZE);
  let places = params.channels / WIDTH;
  let step = params.chunks * places;
  if (i >= step) { return; }
  var a = floats();
  var b = floats();
  let chunk = i / places;
  let chunks = params.chunks;
  let turns = (params.rows - chunk + chunks - 1u) / chunks;
  for (var turn = 0u; turn < turns; turn++) {
    let row = chunk + turn * chunks;
    let at = i + turn * step;
    let g = floats(dy[at]);
    a += g * (floats(x[at]) - statistics[place(row)]) * statistics[place(row) + params.span];
    b += g;
  }
  partials[i] = a;
  partials[step + i] = b;
}

@compute @workgroup_size(SIZE)
fn layer_norm_backward_parameters(id: Invocation) {
  let c = number(id, SIZE);
  if (c >= params.channels) { return; }
  let channels = params.channels;
  let chunks = params.chunks;
  let step = chunks * channels;
  var a = 0.0;
  var b = 0.0;
  for (var p = 0u; p < chunks; p++) {
    let at = p * channels + c;
    a += sums[at];
    b += sums[step + at];
  }
  dscale[c] += a;
  dbias[c] += b;
}

// A workgroup has PLACES places, and SLICES invocations for each.
const PLACES: u32 = 8u;
const SLICES: u32 = 32u;

var<workgroup> slices: array<array<floats, 2>, 256>;

fn add_columns(group: u32, local: u32) {
  let places = params.channels / WIDTH;
  let c = group * PLACES + local % PLACES;
  let rows = select(0u, params.rows, c < places);
  var a = floats();
  var b = floats();
  for (var row = local / PLACES; row < rows; row += SLICES) {
    let g = floats(dy[row * places + c]);
    a += g * (floats(x[row * places + c]) - statistics[place(row)]) * statistics[place(row) + params.span];
    b += g;
  }
  slices[local] = array<floats, 2>(a, b);
  workgroupBarrier();
  if (local >= PLACES || c >= places) { return; }
  for (var slice = 1u; slice < SLICES; slice++) {
    a += slices[slice * PLACES + local][0];
    b += slices[slice * PLACES + local][1];
  }
  dgain[c] += a;
  dshift[c] += b;
}

// Four invocations share a row.
fn add_rows(group: u32, local: u32) {
  let row = group * 64u + local / 4u;
  let lane = local % 4u;
  let here = min(row, params.rows - 1u);
  let n = f32(params.channels);
  let mean = statistics[place(here)];
  let r = statistics[place(here) + params.span];
  let places = params.channels / WIDTH;
  let first = here * places;
  var sum = floats();
  var products = floats();
  for (var c = lane; c < places; c += 4u) {
    let g = floats(dy[first + c]) * floats(gain[c]);
    sum += g;
    products += g * (floats(x[first + c]) - mean);
  }
  slices[local] = array<floats, 2>(sum, products);
  workgroupBarrier();
  if (row >= params.rows) { return; }
  let at = local - lane;
  let a = added(slices[at][0] + slices[at + 1u][0] + slices[at + 2u][0] + slices[at + 3u][0]) / n;
  let b = added(slices[at][1] + slices[at + 1u][1] + slices[at + 2u][1] + slices[at + 3u][1]) * r * r / n;
  for (var c = lane; c < places; c += 4u) {
    let g = floats(dy[first + c]) * floats(gain[c]);
    dx_of_few[first + c] = stored(select(floats(dx_of_few[first + c]), floats(), FRESH) + r * (g - a - (floats(x[first + c]) - mean) * b));
  }
}

@compute @workgroup_size(256)
fn layer_norm_backward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let columns = (params.channels / WIDTH + PLACES - 1u) / PLACES;
  if (group.x < columns) {
    add_columns(group.x, local);
  } else {
    add_rows(group.x - columns, local);
  }
}
