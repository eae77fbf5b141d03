// The gradients of attention_lanes.wgsl, which comes before it, with attention_floats.wgsl. Loaded tokens are visited two at a time.

fn gradient_quads(at: u32) -> Quads {
  var x = Quads(vec4<f32>(dy[at]), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = vec4<f32>(dy[at + 1u]); }
  if (QUADS > 2u) { x.c2 = vec4<f32>(dy[at + 2u]); x.c3 = vec4<f32>(dy[at + 3u]); }
  return x;
}

// add_to_query adds to the gradient of query i.
fn add_to_query(b: u32, i: u32, h: u32, part: u32, x: Quads) {
  let to = at(index(b, i, params.queries, h), part);
  add_dq(to, x.c0);
  if (QUADS > 1u) { add_dq(to + 1u, x.c1); }
  if (QUADS > 2u) { add_dq(to + 2u, x.c2); add_dq(to + 3u, x.c3); }
}

@compute @workgroup_size(LANES)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) / SHARE * ROWS;
  let part = lane % SHARE;
  let h = group.y;
  let b = group.z;
  let last = min(first + ROWS, params.queries);
  var tokens: array<Quads, ROWS>;
  var slopes: array<Quads, ROWS>;
  var e: vec4<f32>;
  var d: vec4<f32>;
  for (var i = first; i < last; i++) {
    let from_i = index(b, i, params.queries, h);
    tokens[i - first] = scores_query(b, i, h, part);
    slopes[i - first] = gradient_quads(at(from_i, part));
    e[i - first] = lse[from_i];
    d[i - first] = delta[from_i];
  }
  let queries = Rows(tokens[0], tokens[1], tokens[2], tokens[3]);
  let gradients = Rows(slopes[0], slopes[1], slopes[2], slopes[3]);
  var sum = Rows();
  for (var j = 0u; j < params.keys; j += TOKENS) {
    let own = at(pair(b, j + lane / SHARE, h), part);
    let k = pair_quads(own);
    let v = pair_quads(own + values());
    for (var t = 0u; t < TOKENS; t += 2u) {
      let k0 = shuffled(k, t, part); let k1 = shuffled(k, t + 1u, part);
      let ds0 = exp2(scores(k0, queries, j + t) - e) * (products(shuffled(v, t, part), gradients) - d);
      let ds1 = exp2(scores(k1, queries, j + t + 1u) - e) * (products(shuffled(v, t + 1u, part), gradients) - d);
      sum = add(sum, ds0, k0, ds1, k1);
    }
  }
  tokens = array<Quads, ROWS>(sum.r0, sum.r1, sum.r2, sum.r3);
  for (var i = first; i < last; i++) { add_to_query(b, i, h, part, scaled(tokens[i - first], params.scale)); }
}

// add_to_pair adds to the gradients of key i and of its value.
fn add_to_pair(b: u32, i: u32, h: u32, part: u32, k: Quads, v: Quads) {
  let to = at(pair(b, i, h), part);
  add_dkv(to, k.c0); add_dkv(to + values(), v.c0);
  if (QUADS > 1u) { add_dkv(to + 1u, k.c1); add_dkv(to + values() + 1u, v.c1); }
  if (QUADS > 2u) {
    add_dkv(to + 2u, k.c2); add_dkv(to + values() + 2u, v.c2);
    add_dkv(to + 3u, k.c3); add_dkv(to + values() + 3u, v.c3);
  }
}

@compute @workgroup_size(LANES)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) / SHARE * ROWS; // key
  let part = lane % SHARE;
  let h = group.y;
  let b = group.z;
  let last = min(first + ROWS, params.keys);
  var keys: array<Quads, ROWS>;
  var values_of: array<Quads, ROWS>;
  for (var i = first; i < last; i++) {
    let own = at(pair(b, i, h), part);
    keys[i - first] = scaled(pair_quads(own), params.scale * LOG2E);
    values_of[i - first] = pair_quads(own + values());
  }
  let k = Rows(keys[0], keys[1], keys[2], keys[3]);
  let v = Rows(values_of[0], values_of[1], values_of[2], values_of[3]);
  var dk = Rows();
  var dv = Rows();
  for (var j = 0u; j < params.queries; j += TOKENS) {
    let query = j + lane / SHARE;
    let i = index(b, query, params.queries, h);
    let q = query_quads(at(i, part));
    let g = gradient_quads(at(i, part));
    let e = select(-LOWEST, lse[i], query < params.queries); // beyond the last none has a weight
    let d = delta[i];
    for (var t = 0u; t < TOKENS; t += 2u) {
      let q0 = shuffled(q, t, part); let g0 = shuffled(g, t, part);
      let q1 = shuffled(q, t + 1u, part); let g1 = shuffled(g, t + 1u, part);
      let p0 = exp2(products(q0, k) - subgroupShuffle(e, t * SHARE));
      let p1 = exp2(products(q1, k) - subgroupShuffle(e, (t + 1u) * SHARE));
      dv = add(dv, p0, g0, p1, g1);
      let ds0 = p0 * (products(g0, v) - subgroupShuffle(d, t * SHARE));
      let ds1 = p1 * (products(g1, v) - subgroupShuffle(d, (t + 1u) * SHARE));
      dk = add(dk, ds0, q0, ds1, q1);
    }
  }
  keys = array<Quads, ROWS>(dk.r0, dk.r1, dk.r2, dk.r3);
  values_of = array<Quads, ROWS>(dv.r0, dv.r1, dv.r2, dv.r3);
  for (var i = first; i < last; i++) { add_to_pair(b, i, h, part, scaled(keys[i - first], params.scale), values_of[i - first]); }
}
