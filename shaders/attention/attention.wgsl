// Attention for heads of any D. It suits processors that emulate a GPU, where a load costs as much
// as tens of multiplications. An invocation has 8 neighbouring queries (for dk and dv: keys) of one
// head, its rows. It visits 8 keys (queries), the tokens, at a time, and keeps their scores in
// registers: 16 loads serve 64 multiply-adds. Rows beyond the last repeat it, unwritten. y (the
// mean over the keys so far), dq and dkv stay in storage. In storage of halves they are rounded
// after every 8 tokens. Below attention_common.wgsl: stored and made are real.
//
// A matrix has a column for each of four rows (a: 0 to 3, b: 4 to 7) and a row for each of four
// tokens.

const SIZE: u32 = 8u;

// values is the distance in kv from a key to its value.
fn values() -> u32 { return params.heads * params.width; }

// queries and pairs are the indices of four tokens from i on.
fn queries(b: u32, i: u32, h: u32) -> vec4<u32> {
  let n = params.queries;
  return vec4<u32>(index(b, i, n, h), index(b, i + 1u, n, h), index(b, i + 2u, n, h), index(b, i + 3u, n, h));
}
fn pairs(b: u32, i: u32, h: u32) -> vec4<u32> {
  return vec4<u32>(pair(b, i, h), pair(b, i + 1u, h), pair(b, i + 2u, h), pair(b, i + 3u, h));
}

// Each of these reads one channel, or one number, of four tokens.
fn q_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(q[r.x + c], q[r.y + c], q[r.z + c], q[r.w + c])); }
fn k_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(kv[r.x + c], kv[r.y + c], kv[r.z + c], kv[r.w + c])); }
fn v_of(r: vec4<u32>, c: u32) -> vec4<f32> { return k_of(r, c + values()); }
fn dy_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(dy[r.x + c], dy[r.y + c], dy[r.z + c], dy[r.w + c])); }
fn y_of(r: vec4<u32>, c: u32) -> vec4<f32> { return vec4<f32>(real4(result[r.x + c], result[r.y + c], result[r.z + c], result[r.w + c])); }
fn lse_of(i: vec4<u32>) -> vec4<f32> { return vec4<f32>(lse[i.x], lse[i.y], lse[i.z], lse[i.w]); }
fn delta_of(i: vec4<u32>) -> vec4<f32> { return vec4<f32>(delta[i.x], delta[i.y], delta[i.z], delta[i.w]); }

fn outer(tokens: vec4<f32>, rows: vec4<f32>) -> mat4x4<f32> {
  return mat4x4<f32>(tokens * rows.x, tokens * rows.y, tokens * rows.z, tokens * rows.w);
}

// masked gives tokens that do not exist the lowest score: of those from j on, tokens from n on.
fn masked(s: mat4x4<f32>, j: u32, n: u32) -> mat4x4<f32> {
  let there = vec4<u32>(j, j + 1u, j + 2u, j + 3u) < vec4<u32>(n);
  let none = vec4<f32>(LOWEST);
  return mat4x4<f32>(select(none, s[0], there), select(none, s[1], there), select(none, s[2], there), select(none, s[3], there));
}

fn max4(v: vec4<f32>) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }

// highest is the highest of m and of the eight scores, for each row.
fn highest(m: vec4<f32>, s: mat4x4<f32>, t: mat4x4<f32>) -> vec4<f32> {
  return max(m, vec4<f32>(max4(max(s[0], t[0])), max4(max(s[1], t[1])), max4(max(s[2], t[2])), max4(max(s[3], t[3]))));
}

// by_row has one number of v for each row, by_token one for each token.
fn by_row(v: vec4<f32>) -> mat4x4<f32> { return mat4x4<f32>(vec4<f32>(v.x), vec4<f32>(v.y), vec4<f32>(v.z), vec4<f32>(v.w)); }
fn by_token(v: vec4<f32>) -> mat4x4<f32> { return mat4x4<f32>(v, v, v, v); }

fn exponentials(m: mat4x4<f32>) -> mat4x4<f32> { return mat4x4<f32>(exp2(m[0]), exp2(m[1]), exp2(m[2]), exp2(m[3])); }
fn products(a: mat4x4<f32>, b: mat4x4<f32>) -> mat4x4<f32> { return mat4x4<f32>(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]); }

// kept is element i of y times before, or 0 if before is 0: y is not written yet.
fn kept(i: u32, before: f32) -> f32 { return select(f32(y[i]) * before, 0.0, before == 0.0); }

// update multiplies y of four rows by before and adds v. add_queries and add_pairs add to
// gradients. Rows from exist on are left out.
fn update(r: vec4<u32>, exist: u32, before: vec4<f32>, v: vec4<f32>) {
  if (exist > 0u) { store(r.x, kept(r.x, before.x) + v.x); }
  if (exist > 1u) { store(r.y, kept(r.y, before.y) + v.y); }
  if (exist > 2u) { store(r.z, kept(r.z, before.z) + v.z); }
  if (exist > 3u) { store(r.w, kept(r.w, before.w) + v.w); }
}
fn add_queries(r: vec4<u32>, exist: u32, v: vec4<f32>, first: bool) {
  if (exist > 0u) { add_dq(r.x, v.x, first); }
  if (exist > 1u) { add_dq(r.y, v.y, first); }
  if (exist > 2u) { add_dq(r.z, v.z, first); }
  if (exist > 3u) { add_dq(r.w, v.w, first); }
}
fn add_pairs(r: vec4<u32>, exist: u32, v: vec4<f32>, first: bool) {
  if (exist > 0u) { add_dkv(r.x, v.x, first); }
  if (exist > 1u) { add_dkv(r.y, v.y, first); }
  if (exist > 2u) { add_dkv(r.z, v.z, first); }
  if (exist > 3u) { add_dkv(r.w, v.w, first); }
}

fn store_deltas(i: vec4<u32>, exist: u32, v: vec4<f32>) {
  if (exist > 0u) { delta_out[i.x] = v.x; }
  if (exist > 1u) { delta_out[i.y] = v.y; }
  if (exist > 2u) { delta_out[i.z] = v.z; }
  if (exist > 3u) { delta_out[i.w] = v.w; }
}

fn store_sums(i: vec4<u32>, exist: u32, v: vec4<f32>) {
  if (exist > 0u) { store_sum(i.x, v.x); }
  if (exist > 1u) { store_sum(i.y, v.y); }
  if (exist > 2u) { store_sum(i.z, v.z); }
  if (exist > 3u) { store_sum(i.w, v.w); }
}

@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * 8u;
  let h = group.y;
  let b = group.z;
  let scale = params.scale * LOG2E;
  let exist = max(first, params.queries) - first;
  let exist_b = max(exist, 4u) - 4u;
  let ia = queries(b, first, h);
  let ib = queries(b, first + 4u, h);
  let qa = ia * params.width;
  let qb = ib * params.width;
  var ma = vec4<f32>(LOWEST); // highest scores
  var mb = vec4<f32>(LOWEST);
  var la = vec4<f32>(); // sums of exponentials
  var lb = vec4<f32>();
  for (var j = 0u; j < params.keys; j += 8u) {
    let r = pairs(b, j, h) * params.width;
    let t = pairs(b, j + 4u, h) * params.width;
    var sa = mat4x4<f32>(); // of keys j to j + 3
    var sb = mat4x4<f32>();
    var ta = mat4x4<f32>(); // of keys j + 4 to j + 7
    var tb = mat4x4<f32>();
    for (var c = 0u; c < params.width; c++) {
      let k = k_of(r, c);
      let l = k_of(t, c);
      let xa = q_of(qa, c);
      let xb = q_of(qb, c);
      sa += outer(k, xa);
      ta += outer(l, xa);
      sb += outer(k, xb);
      tb += outer(l, xb);
    }
    sa = masked(sa * scale, j, params.keys);
    sb = masked(sb * scale, j, params.keys);
    ta = masked(ta * scale, j + 4u, params.keys);
    tb = masked(tb * scale, j + 4u, params.keys);
    let ha = highest(ma, sa, ta);
    let hb = highest(mb, sb, tb);
    let da = la * exp2(ma - ha);
    let db = lb * exp2(mb - hb);
    ma = ha;
    mb = hb;
    sa = exponentials(sa - by_row(ha));
    ta = exponentials(ta - by_row(ha));
    sb = exponentials(sb - by_row(hb));
    tb = exponentials(tb - by_row(hb));
    let one = vec4<f32>(1.0);
    la = da + one * (sa + ta);
    lb = db + one * (sb + tb);
    sa = products(sa, by_row(1.0 / la));
    ta = products(ta, by_row(1.0 / la));
    sb = products(sb, by_row(1.0 / lb));
    tb = products(tb, by_row(1.0 / lb));
    let before_a = da / la; // 0 at first
    let before_b = db / lb;
    for (var c = 0u; c < params.width; c++) {
      let v = v_of(r, c);
      let w = v_of(t, c);
      update(qa + c, exist, before_a, v * sa + w * ta);
      update(qb + c, exist_b, before_b, v * sb + w * tb);
    }
  }
  store_sums(ia, exist, ma + log2(la));
  store_sums(ib, exist_b, mb + log2(lb));
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * 8u;
  let h = group.y;
  let b = group.z;
  let scale = params.scale * LOG2E;
  let exist = max(first, params.queries) - first;
  let exist_b = max(exist, 4u) - 4u;
  let ia = queries(b, first, h);
  let ib = queries(b, first + 4u, h);
  let qa = ia * params.width;
  let qb = ib * params.width;
  let ea = lse_of(ia);
  let eb = lse_of(ib);
  var da = vec4<f32>();
  var db = vec4<f32>();
  for (var c = 0u; c < params.width; c++) {
    da = fma(y_of(qa, c), dy_of(qa, c), da);
    db = fma(y_of(qb, c), dy_of(qb, c), db);
  }
  store_deltas(ia, exist, da);
  store_deltas(ib, exist_b, db);
  for (var j = 0u; j < params.keys; j += 8u) {
    let r = pairs(b, j, h) * params.width;
    let t = pairs(b, j + 4u, h) * params.width;
    var sa = mat4x4<f32>(); // q k, of keys j to j + 3
    var sb = mat4x4<f32>();
    var ta = mat4x4<f32>(); // of keys j + 4 to j + 7
    var tb = mat4x4<f32>();
    var ya = mat4x4<f32>(); // dy v
    var yb = mat4x4<f32>();
    var za = mat4x4<f32>();
    var zb = mat4x4<f32>();
    for (var c = 0u; c < params.width; c++) {
      let k = k_of(r, c);
      let l = k_of(t, c);
      let xa = q_of(qa, c);
      let xb = q_of(qb, c);
      sa += outer(k, xa);
      ta += outer(l, xa);
      sb += outer(k, xb);
      tb += outer(l, xb);
      let v = v_of(r, c);
      let w = v_of(t, c);
      let ga = dy_of(qa, c);
      let gb = dy_of(qb, c);
      ya += outer(v, ga);
      za += outer(w, ga);
      yb += outer(v, gb);
      zb += outer(w, gb);
    }
    sa = products(exponentials(masked(sa * scale, j, params.keys) - by_row(ea)), ya - by_row(da)) * params.scale;
    ta = products(exponentials(masked(ta * scale, j + 4u, params.keys) - by_row(ea)), za - by_row(da)) * params.scale;
    sb = products(exponentials(masked(sb * scale, j, params.keys) - by_row(eb)), yb - by_row(db)) * params.scale;
    tb = products(exponentials(masked(tb * scale, j + 4u, params.keys) - by_row(eb)), zb - by_row(db)) * params.scale;
    for (var c = 0u; c < params.width; c++) {
      let k = k_of(r, c);
      let l = k_of(t, c);
      add_queries(qa + c, exist, k * sa + l * ta, j == 0u);
      add_queries(qb + c, exist_b, k * sb + l * tb, j == 0u);
    }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * 8u; // key
  let h = group.y;
  let b = group.z;
  let scale = params.scale * LOG2E;
  let exist = max(first, params.keys) - first;
  let exist_b = max(exist, 4u) - 4u;
  let ka = pairs(b, first, h) * params.width;
  let kb = pairs(b, first + 4u, h) * params.width;
  for (var j = 0u; j < params.queries; j += 8u) {
    let i = queries(b, j, h);
    let n = queries(b, j + 4u, h);
    let r = i * params.width;
    let t = n * params.width;
    var sa = mat4x4<f32>(); // k q, of queries j to j + 3
    var sb = mat4x4<f32>();
    var ta = mat4x4<f32>(); // of queries j + 4 to j + 7
    var tb = mat4x4<f32>();
    var ya = mat4x4<f32>(); // v dy
    var yb = mat4x4<f32>();
    var za = mat4x4<f32>();
    var zb = mat4x4<f32>();
    for (var c = 0u; c < params.width; c++) {
      let x = q_of(r, c);
      let z = q_of(t, c);
      let k = k_of(ka, c);
      let l = k_of(kb, c);
      sa += outer(x, k);
      ta += outer(z, k);
      sb += outer(x, l);
      tb += outer(z, l);
      let g = dy_of(r, c);
      let d = dy_of(t, c);
      let v = v_of(ka, c);
      let w = v_of(kb, c);
      ya += outer(g, v);
      za += outer(d, v);
      yb += outer(g, w);
      zb += outer(d, w);
    }
    sa = exponentials(masked(sa * scale, j, params.queries) - by_token(lse_of(i)));
    sb = exponentials(masked(sb * scale, j, params.queries) - by_token(lse_of(i)));
    ta = exponentials(masked(ta * scale, j + 4u, params.queries) - by_token(lse_of(n)));
    tb = exponentials(masked(tb * scale, j + 4u, params.queries) - by_token(lse_of(n)));
    ya = products(sa, ya - by_token(delta_of(i))) * params.scale;
    yb = products(sb, yb - by_token(delta_of(i))) * params.scale;
    za = products(ta, za - by_token(delta_of(n))) * params.scale;
    zb = products(tb, zb - by_token(delta_of(n))) * params.scale;
    for (var c = 0u; c < params.width; c++) {
      let x = q_of(r, c);
      let z = q_of(t, c);
      let g = dy_of(r, c);
      let d = dy_of(t, c);
      add_pairs(ka + c, exist, x * ya + z * za, j == 0u);
      add_pairs(kb + c, exist_b, x * yb + z * zb, j == 0u);
      add_pairs(ka + values() + c, exist, g * sa + d * ta, j == 0u);
      add_pairs(kb + values() + c, exist_b, g * sb + d * tb, j == 0u);
    }
  }
}
