// Attention (attention.wgsl) for GPUs, D any multiple of 4 up to 64: keys and values (dk, dv: queries and dy) pass through
// workgroup memory in tiles of 16 tokens, loaded once for all invocations of a workgroup, each of which keeps a query and its result in
// registers. Rows are padded by one vec4: see attention_tiles_backward.wgsl, the gradients. Joined with attention_tokens.wgsl,
// attention_quads.wgsl, and attention_floats.wgsl or attention_int8.wgsl.

const SIZE: u32 = 64u;
const TILE: u32 = 16u;
const PITCH: u32 = QUADS + 1u;

var<workgroup> first_tile: array<vec4<f32>, 272>; // (TILE, PITCH): keys, queries
var<workgroup> second_tile: array<vec4<f32>, 272>; // (TILE, PITCH): values, dy
var<workgroup> scores: array<f32, 1088>; // (SIZE, TILE + 1)

fn load_keys(b: u32, h: u32, j: u32, local: u32) {
  for (var t = local; t < TILE * QUADS; t += SIZE) {
    let source = pair(b, j + t / QUADS, h) * QUADS + t % QUADS;
    let to = t / QUADS * PITCH + t % QUADS;
    first_tile[to] = load_pair(source);
    second_tile[to] = load_pair(values() + source);
  }
}

@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let query = group.x * SIZE + local;
  let at = index(b, query, params.queries, h);
  let row = at * QUADS;
  let a = params.scale * LOG2E;
  let quads = params.width / 4u; // QUADS, which a compiler would write so many times
  var own: array<vec4<f32>, 16>;
  for (var c = 0u; c < quads; c++) { own[c] = load_query(row + c) * a; }
  let q0 = own[0]; let q1 = own[1]; let q2 = own[2]; let q3 = own[3]; let q4 = own[4]; let q5 = own[5]; let q6 = own[6]; let q7 = own[7];
  let q8 = own[8]; let q9 = own[9]; let q10 = own[10]; let q11 = own[11]; let q12 = own[12]; let q13 = own[13]; let q14 = own[14]; let q15 = own[15];
  var y0 = vec4<f32>(0.0); var y1 = vec4<f32>(0.0); var y2 = vec4<f32>(0.0); var y3 = vec4<f32>(0.0);
  var y4 = vec4<f32>(0.0); var y5 = vec4<f32>(0.0); var y6 = vec4<f32>(0.0); var y7 = vec4<f32>(0.0);
  var y8 = vec4<f32>(0.0); var y9 = vec4<f32>(0.0); var y10 = vec4<f32>(0.0); var y11 = vec4<f32>(0.0);
  var y12 = vec4<f32>(0.0); var y13 = vec4<f32>(0.0); var y14 = vec4<f32>(0.0); var y15 = vec4<f32>(0.0);
  var m = LOWEST;
  var l = 0.0;
  for (var j = 0u; j < params.keys; j += TILE) {
    workgroupBarrier();
    load_keys(b, h, j, local);
    workgroupBarrier();
    let n = min(TILE, params.keys - j);
    var highest = m;
    for (var i = 0u; i < n; i++) {
      let t = i * PITCH;
      var s = dot(q0, first_tile[t]);
      if (QUADS > 1u) { s += dot(q1, first_tile[t + 1u]); } if (QUADS > 2u) { s += dot(q2, first_tile[t + 2u]); }
      if (QUADS > 3u) { s += dot(q3, first_tile[t + 3u]); } if (QUADS > 4u) { s += dot(q4, first_tile[t + 4u]); }
      if (QUADS > 5u) { s += dot(q5, first_tile[t + 5u]); } if (QUADS > 6u) { s += dot(q6, first_tile[t + 6u]); }
      if (QUADS > 7u) { s += dot(q7, first_tile[t + 7u]); } if (QUADS > 8u) { s += dot(q8, first_tile[t + 8u]); }
      if (QUADS > 9u) { s += dot(q9, first_tile[t + 9u]); } if (QUADS > 10u) { s += dot(q10, first_tile[t + 10u]); }
      if (QUADS > 11u) { s += dot(q11, first_tile[t + 11u]); } if (QUADS > 12u) { s += dot(q12, first_tile[t + 12u]); }
      if (QUADS > 13u) { s += dot(q13, first_tile[t + 13u]); } if (QUADS > 14u) { s += dot(q14, first_tile[t + 14u]); }
      if (QUADS > 15u) { s += dot(q15, first_tile[t + 15u]); }
      scores[local * (TILE + 1u) + i] = s;
      highest = max(highest, s);
    }
    let decay = exp2(m - highest);
    m = highest;
    l *= decay;
    y0 *= decay;
    if (QUADS > 1u) { y1 *= decay; } if (QUADS > 2u) { y2 *= decay; } if (QUADS > 3u) { y3 *= decay; } if (QUADS > 4u) { y4 *= decay; }
    if (QUADS > 5u) { y5 *= decay; } if (QUADS > 6u) { y6 *= decay; } if (QUADS > 7u) { y7 *= decay; } if (QUADS > 8u) { y8 *= decay; }
    if (QUADS > 9u) { y9 *= decay; } if (QUADS > 10u) { y10 *= decay; } if (QUADS > 11u) { y11 *= decay; } if (QUADS > 12u) { y12 *= decay; }
    if (QUADS > 13u) { y13 *= decay; } if (QUADS > 14u) { y14 *= decay; } if (QUADS > 15u) { y15 *= decay; }
    for (var i = 0u; i < n; i++) {
      let t = i * PITCH;
      let p = exp2(scores[local * (TILE + 1u) + i] - m);
      l += p;
      y0 += p * second_tile[t];
      if (QUADS > 1u) { y1 += p * second_tile[t + 1u]; } if (QUADS > 2u) { y2 += p * second_tile[t + 2u]; }
      if (QUADS > 3u) { y3 += p * second_tile[t + 3u]; } if (QUADS > 4u) { y4 += p * second_tile[t + 4u]; }
      if (QUADS > 5u) { y5 += p * second_tile[t + 5u]; } if (QUADS > 6u) { y6 += p * second_tile[t + 6u]; }
      if (QUADS > 7u) { y7 += p * second_tile[t + 7u]; } if (QUADS > 8u) { y8 += p * second_tile[t + 8u]; }
      if (QUADS > 9u) { y9 += p * second_tile[t + 9u]; } if (QUADS > 10u) { y10 += p * second_tile[t + 10u]; }
      if (QUADS > 11u) { y11 += p * second_tile[t + 11u]; } if (QUADS > 12u) { y12 += p * second_tile[t + 12u]; }
      if (QUADS > 13u) { y13 += p * second_tile[t + 13u]; } if (QUADS > 14u) { y14 += p * second_tile[t + 14u]; }
      if (QUADS > 15u) { y15 += p * second_tile[t + 15u]; }
    }
  }
  if (query >= params.queries) { return; }
  store_sum(at, m + log2(l));
  own = array<vec4<f32>, 16>(y0, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15);
  for (var c = 0u; c < quads; c++) { store(row + c, own[c] / l); }
}
