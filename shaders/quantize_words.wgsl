// Part of all that reads or writes int8: four whole numbers −127 to 127 a word, the first in the low byte.

fn unpacked(word: u32) -> vec4<i32> {
  return bitcast<vec4<i32>>(vec4<u32>(word) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}

fn packed(v: vec4<i32>) -> u32 {
  let bytes = (bitcast<vec4<u32>>(v) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  return bytes.x | bytes.y | bytes.z | bytes.w;
}
