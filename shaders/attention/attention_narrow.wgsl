// Attention for heads of D = 4 or 8 channels on processors that emulate a GPU without subgroups,
// where a load costs as much as tens of multiplications. An invocation holds ROWS neighbouring
// queries (dk, dv: keys) and their results in registers and visits the keys (queries): a load
// serves ROWS multiply-adds. If ROWS is 4 there are no rows b: more registers would take a driver's
// compiler ten seconds. Below attention_common.wgsl. The header also declares ROWS (8 or 4).

const SIZE: u32 = 8u;
const LAST: u32 = QUADS - 1u;

// Token has the one or two quads of a token. Rows have those of eight tokens, one in each column:
// rows 0 to 3 in a, rows 4 to 7 in b. Each has a number for each row.
struct Token { x0: vec4<f32>, x1: vec4<f32> }
struct Rows { a0: mat4x4<f32>, a1: mat4x4<f32>, b0: mat4x4<f32>, b1: mat4x4<f32> }
struct Each { a: vec4<f32>, b: vec4<f32> }

// The index of the first quad of query i, of key i and of its value.
fn query_at(b: u32, i: u32, h: u32) -> u32 { return index(b, i, params.queries, h) * QUADS; }
fn key_at(b: u32, i: u32, h: u32) -> u32 { return pair(b, i, h) * QUADS; }
fn value_at(b: u32, i: u32, h: u32) -> u32 { return key_at(b, i, h) + params.heads * QUADS; }

fn query(at: u32) -> Token { return Token(loaded(q[at]), loaded(q[at + LAST])); }
fn gradient(at: u32) -> Token { return Token(vec4<f32>(dy[at]), vec4<f32>(dy[at + LAST])); }
fn key(at: u32) -> Token { return Token(loaded(kv[at]), loaded(kv[at + LAST])); } // or value

fn rows(t0: Token, t1: Token, t2: Token, t3: Token, t4: Token, t5: Token, t6: Token, t7: Token) -> Rows {
  return Rows(mat4x4<f32>(t0.x0, t1.x0, t2.x0, t3.x0), mat4x4<f32>(t0.x1, t1.x1, t2.x1, t3.x1),
              mat4x4<f32>(t4.x0, t5.x0, t6.x0, t7.x0), mat4x4<f32>(t4.x1, t5.x1, t6.x1, t7.x1));
}

fn queries(b: u32, i: u32, h: u32) -> Rows {
  return rows(query(query_at(b, i, h)), query(query_at(b, i + 1u, h)), query(query_at(b, i + 2u, h)), query(query_at(b, i + 3u, h)),
              query(query_at(b, i + 4u, h)), query(query_at(b, i + 5u, h)), query(query_at(b, i + 6u, h)), query(query_at(b, i + 7u, h)));
}

fn gradients(b: u32, i: u32, h: u32) -> Rows {
  return rows(gradient(query_at(b, i, h)), gradient(query_at(b, i + 1u, h)), gradient(query_at(b, i + 2u, h)), gradient(query_at(b, i + 3u, h)),
              gradient(query_at(b, i + 4u, h)), gradient(query_at(b, i + 5u, h)), gradient(query_at(b, i + 6u, h)), gradient(query_at(b, i + 7u, h)));
}

// keys are eight keys from i on, or the quads that lie `further` quads behind them, such as their
// values.
fn keys(b: u32, i: u32, h: u32, further: u32) -> Rows {
  return rows(key(key_at(b, i, h) + further), key(key_at(b, i + 1u, h) + further), key(key_at(b, i + 2u, h) + further), key(key_at(b, i + 3u, h) + further),
              key(key_at(b, i + 4u, h) + further), key(key_at(b, i + 5u, h) + further), key(key_at(b, i + 6u, h) + further), key(key_at(b, i + 7u, h) + further));
}

// products are the scalar products of a token with each row.
fn products(x: Token, r: Rows) -> Each {
  var s = Each(x.x0 * r.a0, vec4<f32>());
  if (LAST > 0u) { s.a += x.x1 * r.a1; }
  if (ROWS > 4u) { s.b = x.x0 * r.b0; }
  if (ROWS > 4u && LAST > 0u) { s.b += x.x1 * r.b1; }
  return s;
}

fn outer(x: vec4<f32>, p: vec4<f32>) -> mat4x4<f32> { return mat4x4<f32>(x * p.x, x * p.y, x * p.z, x * p.w); }

// plus adds a token to each row, with the weight that it has there.
fn plus(r: Rows, p: Each, x: Token) -> Rows {
  var y = r;
  y.a0 += outer(x.x0, p.a);
  if (LAST > 0u) { y.a1 += outer(x.x1, p.a); }
  if (ROWS > 4u) { y.b0 += outer(x.x0, p.b); }
  if (ROWS > 4u && LAST > 0u) { y.b1 += outer(x.x1, p.b); }
  return y;
}

fn multiplied(m: mat4x4<f32>, p: vec4<f32>) -> mat4x4<f32> { return mat4x4<f32>(m[0] * p.x, m[1] * p.y, m[2] * p.z, m[3] * p.w); }
fn scaled(r: Rows, p: Each) -> Rows { return Rows(multiplied(r.a0, p.a), multiplied(r.a1, p.a), multiplied(r.b0, p.b), multiplied(r.b1, p.b)); }

fn all(v: f32) -> Each { return Each(vec4<f32>(v), vec4<f32>(v)); }
fn times(x: Each, y: Each) -> Each { return Each(x.a * y.a, x.b * y.b); }
fn sum(x: Each, y: Each) -> Each { return Each(x.a + y.a, x.b + y.b); }
fn less(x: Each, y: Each) -> Each { return Each(x.a - y.a, x.b - y.b); }
fn larger(x: Each, y: Each) -> Each { return Each(max(x.a, y.a), max(x.b, y.b)); }
fn powers(x: Each) -> Each { return Each(exp2(x.a), exp2(x.b)); }

// scores are the scores of key j, the lowest if the key does not exist.
fn scores(b: u32, j: u32, h: u32, queries: Rows) -> Each {
  let s = products(key(key_at(b, j, h)), queries);
  let there = vec4<bool>(j < params.keys);
  return Each(select(vec4<f32>(LOWEST), s.a, there), select(vec4<f32>(LOWEST), s.b, there));
}

// Four keys are visited at a time, and the results in registers are scaled once for all four.
@compute @workgroup_size(SIZE)
fn attention_forward(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS;
  let h = group.y;
  let b = group.z;
  let queries = scaled(queries(b, first, h), all(params.scale * LOG2E));
  var y = Rows();
  var highest = all(LOWEST);
  var total = all(0.0);
  for (var j = 0u; j < params.keys; j += 4u) {
    let s0 = scores(b, j, h, queries);
    let s1 = scores(b, j + 1u, h, queries);
    let s2 = scores(b, j + 2u, h, queries);
    let s3 = scores(b, j + 3u, h, queries);
    let next = larger(highest, larger(larger(s0, s1), larger(s2, s3)));
    let decay = powers(less(highest, next));
    highest = next;
    let p0 = powers(less(s0, next));
    let p1 = powers(less(s1, next));
    let p2 = powers(less(s2, next));
    let p3 = powers(less(s3, next));
    total = sum(times(total, decay), sum(sum(p0, p1), sum(p2, p3)));
    y = plus(plus(scaled(y, decay), p0, key(value_at(b, j, h))), p1, key(value_at(b, j + 1u, h)));
    y = plus(plus(y, p2, key(value_at(b, j + 2u, h))), p3, key(value_at(b, j + 3u, h)));
  }
  var first_quads = array<mat4x4<f32>, 2>(y.a0, y.b0);
  var last_quads = array<mat4x4<f32>, 2>(y.a1, y.b1);
  var most = array<vec4<f32>, 2>(highest.a, highest.b);
  var sums = array<vec4<f32>, 2>(total.a, total.b);
  let last = min(first + ROWS, params.queries);
  for (var i = first; i < last; i++) {
    let n = i - first;
    let at = query_at(b, i, h);
    let l = sums[n / 4u][n % 4u];
    store_sum(at / QUADS, most[n / 4u][n % 4u] + log2(l));
    store(at, first_quads[n / 4u][n % 4u] / l);
    if (LAST > 0u) { store(at + LAST, last_quads[n / 4u][n % 4u] / l); }
  }
}

// sums_of are lse and delta of eight queries from i on.
fn sums_of(b: u32, i: u32, h: u32) -> array<Each, 2> {
  var e = array<vec4<f32>, 2>();
  var d = array<vec4<f32>, 2>();
  for (var n = 0u; n < 8u; n++) {
    let at = index(b, i + n, params.queries, h);
    e[n / 4u][n % 4u] = lse[at];
    var sum = vec4<f32>(dy[at * QUADS]) * vec4<f32>(result[at * QUADS]);
    if (LAST > 0u) { sum += vec4<f32>(dy[at * QUADS + LAST]) * vec4<f32>(result[at * QUADS + LAST]); }
    d[n / 4u][n % 4u] = dot(sum, vec4<f32>(1.0));
  }
  return array<Each, 2>(Each(e[0], e[1]), Each(d[0], d[1]));
}

@compute @workgroup_size(SIZE)
fn attention_backward_q(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS;
  let h = group.y;
  let b = group.z;
  let queries = scaled(queries(b, first, h), all(params.scale * LOG2E));
  let slopes = gradients(b, first, h);
  let sums = sums_of(b, first, h);
  let e = sums[0];
  let d = sums[1];
  var y = Rows();
  for (var j = 0u; j < params.keys; j++) {
    let k = key(key_at(b, j, h));
    let p = powers(less(products(k, queries), e));
    y = plus(y, times(p, less(products(key(value_at(b, j, h)), slopes), d)), k);
  }
  var first_quads = array<mat4x4<f32>, 2>(y.a0, y.b0);
  var last_quads = array<mat4x4<f32>, 2>(y.a1, y.b1);
  var deltas = array<vec4<f32>, 2>(d.a, d.b);
  let last = min(first + ROWS, params.queries);
  for (var i = first; i < last; i++) {
    let n = i - first;
    let at = query_at(b, i, h);
    delta_out[at / QUADS] = deltas[n / 4u][n % 4u];
    add_dq(at, first_quads[n / 4u][n % 4u] * params.scale, true);
    if (LAST > 0u) { add_dq(at + LAST, last_quads[n / 4u][n % 4u] * params.scale, true); }
  }
}

@compute @workgroup_size(SIZE)
fn attention_backward_kv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  let first = (group.x * SIZE + local) * ROWS; // key
  let h = group.y;
  let b = group.z;
  let further = params.heads * QUADS;
  let own_keys = scaled(keys(b, first, h, 0u), all(params.scale * LOG2E));
  let own_values = keys(b, first, h, further);
  var dk = Rows();
  var dv = Rows();
  for (var j = 0u; j < params.queries; j++) {
    let at = query_at(b, j, h);
    let x = query(at);
    let g = gradient(at);
    let p = powers(less(products(x, own_keys), all(lse[at / QUADS])));
    dk = plus(dk, times(p, less(products(g, own_values), all(delta[at / QUADS]))), x);
    dv = plus(dv, p, g);
  }
  var k_first = array<mat4x4<f32>, 2>(dk.a0, dk.b0);
  var k_last = array<mat4x4<f32>, 2>(dk.a1, dk.b1);
  var v_first = array<mat4x4<f32>, 2>(dv.a0, dv.b0);
  var v_last = array<mat4x4<f32>, 2>(dv.a1, dv.b1);
  let last = min(first + ROWS, params.keys);
  for (var i = first; i < last; i++) {
    let n = i - first;
    let at = key_at(b, i, h);
    add_dkv(at, k_first[n / 4u][n % 4u] * params.scale, true);
    add_dkv(at + further, v_first[n / 4u][n % 4u], true);
    if (LAST > 0u) {
      add_dkv(at + LAST, k_last[n / 4u][n % 4u] * params.scale, true);
      add_dkv(at + further + LAST, v_last[n / 4u][n % 4u], true);
    }
  }
}
