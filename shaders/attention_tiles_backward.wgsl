// The gradients of attention_tiles.wgsl, which comes before it, with attention_floats.wgsl.
//
// dq gives a query to an invocation, as the forward does. dk and dv, where tokens are few and the sum is long, give a key to 8 invocations,
// each with every eighth query; they add up their parts at the end, in order. The padding lets the 8 invocations read different banks.

const SLICES: u32 = 8u; // invocations that share a key

var<workgroup> own_keys: array<vec4<f32>, 136>; // (SIZE / SLICES, PITCH)
var<workgroup> own_values: array<vec4<f32>, 136>;

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let query = group.x * SIZE + local;
  let at = index(b, query, params.queries, h);
  let row = at * QUADS;
  let a = params.scale * LOG2E;
  let e = lse[at];
  let d = delta[at];
  let quads = params.width / 4u; // QUADS, which a compiler would write so many times
  var own: array<vec4<f32>, 16>;
  for (var c = 0u; c < quads; c++) { own[c] = vec4<f32>(q[row + c]) * a; }
  let q0 = own[0]; let q1 = own[1]; let q2 = own[2]; let q3 = own[3]; let q4 = own[4]; let q5 = own[5]; let q6 = own[6]; let q7 = own[7];
  let q8 = own[8]; let q9 = own[9]; let q10 = own[10]; let q11 = own[11]; let q12 = own[12]; let q13 = own[13]; let q14 = own[14]; let q15 = own[15];
  for (var c = 0u; c < quads; c++) { own[c] = vec4<f32>(dy[row + c]); }
  let g0 = own[0]; let g1 = own[1]; let g2 = own[2]; let g3 = own[3]; let g4 = own[4]; let g5 = own[5]; let g6 = own[6]; let g7 = own[7];
  let g8 = own[8]; let g9 = own[9]; let g10 = own[10]; let g11 = own[11]; let g12 = own[12]; let g13 = own[13]; let g14 = own[14]; let g15 = own[15];
  var d0 = vec4<f32>(0.0); var d1 = vec4<f32>(0.0); var d2 = vec4<f32>(0.0); var d3 = vec4<f32>(0.0);
  var d4 = vec4<f32>(0.0); var d5 = vec4<f32>(0.0); var d6 = vec4<f32>(0.0); var d7 = vec4<f32>(0.0);
  var d8 = vec4<f32>(0.0); var d9 = vec4<f32>(0.0); var d10 = vec4<f32>(0.0); var d11 = vec4<f32>(0.0);
  var d12 = vec4<f32>(0.0); var d13 = vec4<f32>(0.0); var d14 = vec4<f32>(0.0); var d15 = vec4<f32>(0.0);
  for (var j = 0u; j < params.keys; j += TILE) {
    workgroupBarrier();
    load_keys(b, h, j, local);
    workgroupBarrier();
    for (var i = 0u; i < min(TILE, params.keys - j); i++) {
      let t = i * PITCH;
      var s = dot(q0, first_tile[t]); var z = dot(g0, second_tile[t]);
      if (QUADS > 1u) { s += dot(q1, first_tile[t + 1u]); z += dot(g1, second_tile[t + 1u]); }
      if (QUADS > 2u) { s += dot(q2, first_tile[t + 2u]); z += dot(g2, second_tile[t + 2u]); }
      if (QUADS > 3u) { s += dot(q3, first_tile[t + 3u]); z += dot(g3, second_tile[t + 3u]); }
      if (QUADS > 4u) { s += dot(q4, first_tile[t + 4u]); z += dot(g4, second_tile[t + 4u]); }
      if (QUADS > 5u) { s += dot(q5, first_tile[t + 5u]); z += dot(g5, second_tile[t + 5u]); }
      if (QUADS > 6u) { s += dot(q6, first_tile[t + 6u]); z += dot(g6, second_tile[t + 6u]); }
      if (QUADS > 7u) { s += dot(q7, first_tile[t + 7u]); z += dot(g7, second_tile[t + 7u]); }
      if (QUADS > 8u) { s += dot(q8, first_tile[t + 8u]); z += dot(g8, second_tile[t + 8u]); }
      if (QUADS > 9u) { s += dot(q9, first_tile[t + 9u]); z += dot(g9, second_tile[t + 9u]); }
      if (QUADS > 10u) { s += dot(q10, first_tile[t + 10u]); z += dot(g10, second_tile[t + 10u]); }
      if (QUADS > 11u) { s += dot(q11, first_tile[t + 11u]); z += dot(g11, second_tile[t + 11u]); }
      if (QUADS > 12u) { s += dot(q12, first_tile[t + 12u]); z += dot(g12, second_tile[t + 12u]); }
      if (QUADS > 13u) { s += dot(q13, first_tile[t + 13u]); z += dot(g13, second_tile[t + 13u]); }
      if (QUADS > 14u) { s += dot(q14, first_tile[t + 14u]); z += dot(g14, second_tile[t + 14u]); }
      if (QUADS > 15u) { s += dot(q15, first_tile[t + 15u]); z += dot(g15, second_tile[t + 15u]); }
      let ds = exp2(s - e) * (z - d);
      d0 += ds * first_tile[t];
      if (QUADS > 1u) { d1 += ds * first_tile[t + 1u]; } if (QUADS > 2u) { d2 += ds * first_tile[t + 2u]; }
      if (QUADS > 3u) { d3 += ds * first_tile[t + 3u]; } if (QUADS > 4u) { d4 += ds * first_tile[t + 4u]; }
      if (QUADS > 5u) { d5 += ds * first_tile[t + 5u]; } if (QUADS > 6u) { d6 += ds * first_tile[t + 6u]; }
      if (QUADS > 7u) { d7 += ds * first_tile[t + 7u]; } if (QUADS > 8u) { d8 += ds * first_tile[t + 8u]; }
      if (QUADS > 9u) { d9 += ds * first_tile[t + 9u]; } if (QUADS > 10u) { d10 += ds * first_tile[t + 10u]; }
      if (QUADS > 11u) { d11 += ds * first_tile[t + 11u]; } if (QUADS > 12u) { d12 += ds * first_tile[t + 12u]; }
      if (QUADS > 13u) { d13 += ds * first_tile[t + 13u]; } if (QUADS > 14u) { d14 += ds * first_tile[t + 14u]; }
      if (QUADS > 15u) { d15 += ds * first_tile[t + 15u]; }
    }
  }
  if (query >= params.queries) { return; }
  own = array<vec4<f32>, 16>(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11, d12, d13, d14, d15);
  for (var c = 0u; c < quads; c++) { add_dq(row + c, own[c] * params.scale); }
}

// Adds quads c to c + 3 of dk and dv: the sums, in order, of what the invocations of a key bring.
fn gather(local: u32, b: u32, first: u32, h: u32, c: u32, k0: vec4<f32>, k1: vec4<f32>, k2: vec4<f32>, k3: vec4<f32>,
          v0: vec4<f32>, v1: vec4<f32>, v2: vec4<f32>, v3: vec4<f32>) {
  workgroupBarrier();
  first_tile[local] = k0; first_tile[SIZE + local] = k1; first_tile[2u * SIZE + local] = k2; first_tile[3u * SIZE + local] = k3;
  second_tile[local] = v0; second_tile[SIZE + local] = v1; second_tile[2u * SIZE + local] = v2; second_tile[3u * SIZE + local] = v3;
  workgroupBarrier();
  let key = local / 4u;
  let quad = local % 4u;
  if (key < SIZE / SLICES && first + key < params.keys && c + quad < QUADS) {
    var key_sum = vec4<f32>(0.0);
    var value_sum = vec4<f32>(0.0);
    for (var t = quad * SIZE + key * SLICES; t < quad * SIZE + (key + 1u) * SLICES; t++) {
      key_sum += first_tile[t];
      value_sum += second_tile[t];
    }
    let to = pair(b, first + key, h) * QUADS + c + quad;
    add_dkv(to, key_sum * params.scale);
    add_dkv(values() + to, value_sum);
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let h = group.y;
  let b = group.z;
  let slice = local % SLICES;
  let own = local / SLICES * PITCH;
  let first = group.x * (SIZE / SLICES);
  let a = params.scale * LOG2E;
  for (var t = local; t < SIZE / SLICES * QUADS; t += SIZE) {
    let source = pair(b, first + t / QUADS, h) * QUADS + t % QUADS;
    own_keys[t / QUADS * PITCH + t % QUADS] = vec4<f32>(kv[source]) * a;
    own_values[t / QUADS * PITCH + t % QUADS] = vec4<f32>(kv[values() + source]);
  }
  var k0 = vec4<f32>(0.0); var v0 = vec4<f32>(0.0); var k1 = vec4<f32>(0.0); var v1 = vec4<f32>(0.0);
  var k2 = vec4<f32>(0.0); var v2 = vec4<f32>(0.0); var k3 = vec4<f32>(0.0); var v3 = vec4<f32>(0.0);
  var k4 = vec4<f32>(0.0); var v4 = vec4<f32>(0.0); var k5 = vec4<f32>(0.0); var v5 = vec4<f32>(0.0);
  var k6 = vec4<f32>(0.0); var v6 = vec4<f32>(0.0); var k7 = vec4<f32>(0.0); var v7 = vec4<f32>(0.0);
  var k8 = vec4<f32>(0.0); var v8 = vec4<f32>(0.0); var k9 = vec4<f32>(0.0); var v9 = vec4<f32>(0.0);
  var k10 = vec4<f32>(0.0); var v10 = vec4<f32>(0.0); var k11 = vec4<f32>(0.0); var v11 = vec4<f32>(0.0);
  var k12 = vec4<f32>(0.0); var v12 = vec4<f32>(0.0); var k13 = vec4<f32>(0.0); var v13 = vec4<f32>(0.0);
  var k14 = vec4<f32>(0.0); var v14 = vec4<f32>(0.0); var k15 = vec4<f32>(0.0); var v15 = vec4<f32>(0.0);
  for (var j = 0u; j < params.queries; j += TILE) {
    workgroupBarrier();
    for (var t = local; t < TILE * QUADS; t += SIZE) {
      let source = index(b, j + t / QUADS, params.queries, h) * QUADS + t % QUADS;
      first_tile[t / QUADS * PITCH + t % QUADS] = vec4<f32>(q[source]);
      second_tile[t / QUADS * PITCH + t % QUADS] = vec4<f32>(dy[source]);
    }
    workgroupBarrier();
    for (var i = slice; i < TILE; i += SLICES) {
      let row = i * PITCH;
      var s = 0.0;
      var z = 0.0;
      for (var c = 0u; c < QUADS; c++) {
        s += dot(own_keys[own + c], first_tile[row + c]);
        z += dot(own_values[own + c], second_tile[row + c]);
      }
      let at = index(b, j + i, params.queries, h);
      let p = select(0.0, exp2(s - lse[at]), j + i < params.queries);
      let ds = p * (z - delta[at]);
      k0 += ds * first_tile[row]; v0 += p * second_tile[row];
      if (QUADS > 1u) { k1 += ds * first_tile[row + 1u]; v1 += p * second_tile[row + 1u]; }
      if (QUADS > 2u) { k2 += ds * first_tile[row + 2u]; v2 += p * second_tile[row + 2u]; }
      if (QUADS > 3u) { k3 += ds * first_tile[row + 3u]; v3 += p * second_tile[row + 3u]; }
      if (QUADS > 4u) { k4 += ds * first_tile[row + 4u]; v4 += p * second_tile[row + 4u]; }
      if (QUADS > 5u) { k5 += ds * first_tile[row + 5u]; v5 += p * second_tile[row + 5u]; }
      if (QUADS > 6u) { k6 += ds * first_tile[row + 6u]; v6 += p * second_tile[row + 6u]; }
      if (QUADS > 7u) { k7 += ds * first_tile[row + 7u]; v7 += p * second_tile[row + 7u]; }
      if (QUADS > 8u) { k8 += ds * first_tile[row + 8u]; v8 += p * second_tile[row + 8u]; }
      if (QUADS > 9u) { k9 += ds * first_tile[row + 9u]; v9 += p * second_tile[row + 9u]; }
      if (QUADS > 10u) { k10 += ds * first_tile[row + 10u]; v10 += p * second_tile[row + 10u]; }
      if (QUADS > 11u) { k11 += ds * first_tile[row + 11u]; v11 += p * second_tile[row + 11u]; }
      if (QUADS > 12u) { k12 += ds * first_tile[row + 12u]; v12 += p * second_tile[row + 12u]; }
      if (QUADS > 13u) { k13 += ds * first_tile[row + 13u]; v13 += p * second_tile[row + 13u]; }
      if (QUADS > 14u) { k14 += ds * first_tile[row + 14u]; v14 += p * second_tile[row + 14u]; }
      if (QUADS > 15u) { k15 += ds * first_tile[row + 15u]; v15 += p * second_tile[row + 15u]; }
    }
  }
  var k = array<vec4<f32>, 16>(k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15);
  var v = array<vec4<f32>, 16>(v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15);
  let quads = params.width / 4u;
  for (var c = 0u; c < quads; c += 4u) {
    gather(local, b, first, h, c, k[c], k[c + 1u], k[c + 2u], k[c + 3u], v[c], v[c + 1u], v[c + 2u], v[c + 3u]);
  }
}
