// Clipping of a gradient by its norm (Pascanu, Mikolov & Bengio 2013):
// g' = g · min(1, limit / ‖g‖), or none at all where the norm is not finite.
//
//   square_sums_partial   partials[p] = Σ_j x[p + j chunks]²; reduce_rows_write adds them up
//   clip_schedule         y = schedule, with the factor f = schedule[3] of gradients replaced by
//                         f · min(1, limit / (f √squares)), and by 0, which adam_step takes for no
//                         update, where squares is infinite or no number; limit 0: f stays
//
// Sums are in a fixed order, so that they repeat bit by bit.
//
// Header (go doc ./shaders): Invocation.

const SIZE: u32 = 64u;

struct Params {
  n: u32,
  chunks: u32,
  limit: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // (n); clip_schedule: the schedule (5)
@group(0) @binding(2) var<storage, read> squares: array<f32>; // (1)
@group(0) @binding(2) var<storage, read_write> partials: array<f32>; // (chunks)
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // (5)

@compute @workgroup_size(SIZE)
fn square_sums_partial(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= params.chunks) { return; }
  var sum = 0.0;
  let chunks = params.chunks;
  let turns = (params.n - i + chunks - 1u) / chunks;
  for (var turn = 0u; turn < turns; turn++) {
    let v = x[i + turn * chunks];
    sum += v * v;
  }
  partials[i] = sum;
}

@compute @workgroup_size(SIZE)
fn clip_schedule(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= 5u) { return; }
  var value = x[i];
  if (i == 3u) {
    let norm = value * sqrt(squares[0]);
    if (params.limit > 0.0 && norm > params.limit) { value *= params.limit / norm; }
    if ((bitcast<u32>(squares[0]) & 0x7fffffffu) >= 0x7f800000u) { value = 0.0; }
  }
  y[i] = value;
}
