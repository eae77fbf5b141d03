// Attention for heads of D = 4, 8, 16, 32 or 64 channels on processors that emulate a GPU with
// subgroups of eight, where a load is a loop over lanes. Each lane holds four neighbouring queries
// (for dk and dv: keys) and their results: at most 16 of the channels, and neighbouring lanes hold
// the others. Each lane loads another key and its value, or a part of them, for all lanes to
// shuffle. Below attention_common.wgsl.

const LANES: u32 = 8u; // a workgroup is one subgroup
const ROWS: u32 = 4u; // tokens that a lane holds
const SHARE: u32 = max(QUADS / 4u, 1u); // lanes that share the channels of a token: 1, 2 or 4
const OWN: u32 = min(QUADS, 4u); // quads of a token that a lane has
const TOKENS: u32 = LANES / SHARE; // tokens that a subgroup loads at a time
const STEP: u32 = min(TOKENS, 4u); // loaded tokens that forward visits at a time

fn values() -> u32 { return params.heads * QUADS; } // from a key to its value

fn product(x: vec4<f32>, y: vec4<f32>) -> f32 { return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, x.x * y.x))); }

// Quads are a lane's part of a token; those from OWN on are unused. Rows are the lane's parts of
// four tokens.
struct Quads { c0: vec4<f32>, c1: vec4<f32>, c2: vec4<f32>, c3: vec4<f32> }
struct Rows { r0: Quads, r1: Quads, r2: Quads, r3: Quads }

// part_at is the index in storage of a lane's part of a token.
fn part_at(index: u32, part: u32) -> u32 { return index * QUADS + part * OWN; }

fn query_quads(at: u32) -> Quads {
  var x = Quads(loaded(q[at]), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = loaded(q[at + 1u]); }
  if (QUADS > 2u) { x.c2 = loaded(q[at + 2u]); x.c3 = loaded(q[at + 3u]); }
  return x;
}

fn pair_quads(at: u32) -> Quads {
  var x = Quads(loaded(kv[at]), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = loaded(kv[at + 1u]); }
  if (QUADS > 2u) { x.c2 = loaded(kv[at + 2u]); x.c3 = loaded(kv[at + 3u]); }
  return x;
}

fn scaled(x: Quads, a: f32) -> Quads { return Quads(x.c0 * a, x.c1 * a, x.c2 * a, x.c3 * a); }

// scores_query is query i, scaled so that the exponential of a score is a power of two.
fn scores_query(b: u32, i: u32, h: u32, part: u32) -> Quads {
  return scaled(query_quads(part_at(index(b, i, params.queries, h), part)), params.scale * LOG2E);
}

// shuffled is the x of the lane that has loaded this part of a token.
fn shuffled(x: Quads, token: u32, part: u32) -> Quads {
  let lane = token * SHARE + part;
  return Quads(subgroupShuffle(x.c0, lane), subgroupShuffle(x.c1, lane), subgroupShuffle(x.c2, lane), subgroupShuffle(x.c3, lane));
}

fn along(x: Quads, y: Quads) -> f32 {
  var s = product(x.c0, y.c0);
  if (QUADS > 1u) { s += product(x.c1, y.c1); }
  if (QUADS > 2u) { s += product(x.c2, y.c2) + product(x.c3, y.c3); }
  return s;
}

// over_lanes sums over the lanes of a token.
fn over_lanes(x: vec4<f32>) -> vec4<f32> {
  var s = x;
  if (SHARE > 1u) { s += subgroupShuffleXor(s, 1u); }
  if (SHARE > 2u) { s += subgroupShuffleXor(s, 2u); }
  return s;
}

// products are the products of a token with four tokens, summed over the lanes of a token.
fn products(x: Quads, y: Rows) -> vec4<f32> {
  return over_lanes(vec4<f32>(along(x, y.r0), along(x, y.r1), along(x, y.r2), along(x, y.r3)));
}

// scores are the scores of key j for the queries, the lowest if the key does not exist.
fn scores(key: Quads, queries: Rows, j: u32) -> vec4<f32> {
  return select(vec4<f32>(LOWEST), products(key, queries), vec4<bool>(j < params.keys));
}

// plus adds two weighted tokens to y.
fn plus(y: Quads, p0: f32, x0: Quads, p1: f32, x1: Quads) -> Quads {
  return Quads(
    fma(vec4<f32>(p1), x1.c0, fma(vec4<f32>(p0), x0.c0, y.c0)), fma(vec4<f32>(p1), x1.c1, fma(vec4<f32>(p0), x0.c1, y.c1)),
    fma(vec4<f32>(p1), x1.c2, fma(vec4<f32>(p0), x0.c2, y.c2)), fma(vec4<f32>(p1), x1.c3, fma(vec4<f32>(p0), x0.c3, y.c3)));
}

// add does what plus does for four sums, each with weights of its own.
fn add(y: Rows, p0: vec4<f32>, x0: Quads, p1: vec4<f32>, x1: Quads) -> Rows {
  return Rows(plus(y.r0, p0.x, x0, p1.x, x1), plus(y.r1, p0.y, x0, p1.y, x1), plus(y.r2, p0.z, x0, p1.z, x1), plus(y.r3, p0.w, x0, p1.w, x1));
}

// store_query writes the result of query i, from its sum of weighted values y.
fn store_query(b: u32, i: u32, h: u32, part: u32, y: Quads, highest: f32, total: f32) {
  let row = index(b, i, params.queries, h);
  let to = part_at(row, part);
  if (part == 0u) { store_sum(row, highest + log2(total)); }
  store(to, y.c0 / total);
  if (QUADS > 1u) { store(to + 1u, y.c1 / total); }
  if (QUADS > 2u) { store(to + 2u, y.c2 / total); store(to + 3u, y.c3 / total); }
}

@compute @workgroup_size(LANES)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let first = (group.x * LANES + lane) / SHARE * ROWS;
  let part = lane % SHARE;
  let h = group.y;
  let b = group.z;
  let last = min(first + ROWS, params.queries);
  // A loop visits the four rows: code four times would be compiled four times.
  var tokens: array<Quads, ROWS>;
  for (var i = first; i < last; i++) { tokens[i - first] = scores_query(b, i, h, part); }
  let queries = Rows(tokens[0], tokens[1], tokens[2], tokens[3]);
  var y = Rows();
  var highest = vec4<f32>(LOWEST);
  var total = vec4<f32>();
  for (var j = 0u; j < params.keys; j += TOKENS) {
    let own = part_at(pair(b, j + lane / SHARE, h), part);
    let k = pair_quads(own);
    let v = pair_quads(own + values());
    for (var t = 0u; t < TOKENS; t += STEP) {
      let s0 = scores(shuffled(k, t, part), queries, j + t);
      let s1 = scores(shuffled(k, t + 1u, part), queries, j + t + 1u);
      var s2 = s1; var s3 = s1;
      if (STEP > 2u) {
        s2 = scores(shuffled(k, t + 2u, part), queries, j + t + 2u);
        s3 = scores(shuffled(k, t + 3u, part), queries, j + t + 3u);
      }
      let next = max(highest, max(max(s0, s1), max(s2, s3)));
      let decay = exp2(highest - next);
      highest = next;
      let p0 = exp2(s0 - next); let p1 = exp2(s1 - next);
      total = fma(total, decay, p0 + p1);
      y = Rows(scaled(y.r0, decay.x), scaled(y.r1, decay.y), scaled(y.r2, decay.z), scaled(y.r3, decay.w));
      y = add(y, p0, shuffled(v, t, part), p1, shuffled(v, t + 1u, part));
      if (STEP > 2u) {
        let p2 = exp2(s2 - next); let p3 = exp2(s3 - next);
        total += p2 + p3;
        y = add(y, p2, shuffled(v, t + 2u, part), p3, shuffled(v, t + 3u, part));
      }
    }
  }
  tokens = array<Quads, ROWS>(y.r0, y.r1, y.r2, y.r3);
  for (var i = first; i < last; i++) { store_query(b, i, h, part, tokens[i - first], highest[i - first], total[i - first]); }
}

// Gradients. Loaded tokens are visited two at a time.

fn result_quads(at: u32) -> Quads {
  var x = Quads(vec4<f32>(result[at]), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = vec4<f32>(result[at + 1u]); }
  if (QUADS > 2u) { x.c2 = vec4<f32>(result[at + 2u]); x.c3 = vec4<f32>(result[at + 3u]); }
  return x;
}

fn gradient_quads(at: u32) -> Quads {
  var x = Quads(vec4<f32>(dy[at]), vec4<f32>(), vec4<f32>(), vec4<f32>());
  if (QUADS > 1u) { x.c1 = vec4<f32>(dy[at + 1u]); }
  if (QUADS > 2u) { x.c2 = vec4<f32>(dy[at + 2u]); x.c3 = vec4<f32>(dy[at + 3u]); }
  return x;
}

// add_to_query adds to the gradient of query i.
fn add_to_query(b: u32, i: u32, h: u32, part: u32, x: Quads) {
  let to = part_at(index(b, i, params.queries, h), part);
  add_dq(to, x.c0, true);
  if (QUADS > 1u) { add_dq(to + 1u, x.c1, true); }
  if (QUADS > 2u) { add_dq(to + 2u, x.c2, true); add_dq(to + 3u, x.c3, true); }
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
    slopes[i - first] = gradient_quads(part_at(from_i, part));
    e[i - first] = lse[from_i];
    d[i - first] = along(result_quads(part_at(from_i, part)), slopes[i - first]);
  }
  d = over_lanes(d);
  let queries = Rows(tokens[0], tokens[1], tokens[2], tokens[3]);
  let gradients = Rows(slopes[0], slopes[1], slopes[2], slopes[3]);
  var sum = Rows();
  for (var j = 0u; j < params.keys; j += TOKENS) {
    let own = part_at(pair(b, j + lane / SHARE, h), part);
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
  for (var i = first; i < last; i++) {
    if (part == 0u) { delta_out[index(b, i, params.queries, h)] = d[i - first]; }
    add_to_query(b, i, h, part, scaled(tokens[i - first], params.scale));
  }
}

// add_to_pair adds to the gradients of key i and of its value.
fn add_to_pair(b: u32, i: u32, h: u32, part: u32, k: Quads, v: Quads) {
  let to = part_at(pair(b, i, h), part);
  add_dkv(to, k.c0, true); add_dkv(to + values(), v.c0, true);
  if (QUADS > 1u) { add_dkv(to + 1u, k.c1, true); add_dkv(to + values() + 1u, v.c1, true); }
  if (QUADS > 2u) {
    add_dkv(to + 2u, k.c2, true); add_dkv(to + values() + 2u, v.c2, true);
    add_dkv(to + 3u, k.c3, true); add_dkv(to + values() + 3u, v.c3, true);
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
    let own = part_at(pair(b, i, h), part);
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
    let q = query_quads(part_at(i, part));
    let g = gradient_quads(part_at(i, part));
    let e = select(-LOWEST, lse[i], query < params.queries); // none beyond the last query
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
