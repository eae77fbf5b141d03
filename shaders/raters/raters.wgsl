// What is done rater by rater to maps (B, P, M, K), P pixels (PAPER.md §3.3, §3.8).
//
//   shuffle   y[b,p,m,k] = scale[m] x[b,p,order[m],k] + offset[m]     no gradient
//   weigh     y[b,p,m,k] = x[b,p,m,k] share[b,m,k]                    dx += the same of dy
//   disputed  y[b,p,k] = 1 where two raters who labelled differ, else 0
//
// order (M) u32 is a permutation, scale and offset (M); share and valid (B, M, K). Below
// raters_common.wgsl.

@group(0) @binding(1) var<storage, read> x: array<stored>;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> share: array<real>; // valid, of disputed
@group(0) @binding(3) var<storage, read_write> y: array<stored>;

@group(0) @binding(3) var<storage, read> scale: array<real>;
@group(0) @binding(4) var<storage, read> offset: array<real>;
@group(0) @binding(5) var<storage, read_write> shuffled: array<stored>;

// x of a block.
fn values(block: u32) -> array<f32, VALUES> {
  var all: array<f32, VALUES>;
  for (var q = 0u; q < QUADS; q++) {
    let v = floats(x[block * QUADS + q]);
    for (var n = 0u; n < WIDTH; n++) { all[q * WIDTH + n] = lane(v, n); }
  }
  return all;
}

// A computed index would keep the array out of registers: the loop tries all raters as source.
@compute @workgroup_size(SIZE)
fn shuffle_raters(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  var all = values(block);
  for (var q = 0u; q < QUADS; q++) {
    var v = floats();
    for (var n = 0u; n < WIDTH; n++) {
      let j = q * WIDTH + n;
      let rater = j / CLASSES % RATERS;
      let first = j - rater * CLASSES;
      let giver = order[rater];
      var source = all[first];
      for (var m = 1u; m < RATERS; m++) { source = select(source, all[first + m * CLASSES], giver == m); }
      v = with_lane(v, n, f32(scale[rater]) * source + f32(offset[rater]));
    }
    shuffled[block * QUADS + q] = stored(v);
  }
}

@compute @workgroup_size(SIZE)
fn weigh_raters(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  for (var q = 0u; q < QUADS; q++) {
    var weights = floats();
    for (var n = 0u; n < WIDTH; n++) { weights = with_lane(weights, n, f32(share[label_of(q * WIDTH + n, id.group.z)])); }
    y[block * QUADS + q] = stored(floats(x[block * QUADS + q]) * weights);
  }
}

@compute @workgroup_size(SIZE)
fn disputed(id: Invocation) {
  let i = number(id, SIZE);
  if (i >= blocks()) { return; }
  let block = id.group.z * blocks() + i;
  var all = values(block);
  for (var q = 0u; q < RESULT_QUADS; q++) {
    var v = floats();
    for (var n = 0u; n < WIDTH; n++) {
      let r = q * WIDTH + n;
      let first = r / CLASSES * LABELS + r % CLASSES;
      var least = 2.0;
      var most = -1.0;
      for (var m = 0u; m < RATERS; m++) {
        let labelled = f32(share[label_of(first + m * CLASSES, id.group.z)]) > 0.0;
        let label = all[first + m * CLASSES];
        least = select(least, min(least, label), labelled);
        most = select(most, max(most, label), labelled);
      }
      v = with_lane(v, n, select(0.0, 1.0, most > least));
    }
    y[block * RESULT_QUADS + q] = stored(v);
  }
}
