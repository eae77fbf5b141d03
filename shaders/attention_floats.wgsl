// Part of the attention_*.wgsl that hold channels in quads: what they load and store in floats. Beside attention_tokens.wgsl.

alias stored = real4;

fn load_query(i: u32) -> vec4<f32> { return vec4<f32>(q[i]); }
fn load_pair(i: u32) -> vec4<f32> { return vec4<f32>(kv[i]); }
fn store(i: u32, v: vec4<f32>) { y[i] = real4(v); }
fn store_sum(i: u32, v: f32) { lse_out[i] = v; }

fn add_dq(i: u32, v: vec4<f32>) { dq[i] = real4(vec4<f32>(dq[i]) + v); }
fn add_dkv(i: u32, v: vec4<f32>) { dkv[i] = real4(vec4<f32>(dkv[i]) + v); }
