// Why the processor computes, in words.

// The worker's reason is the text of a Go error, which holds one of these: of gpu.js where there is no adapter, else of internal/gpu. The first that
// fits counts.
const reasons = [
  ["this browser has no WebGPU", { chip: "no WebGPU", sentence: "This browser gives no WebGPU" }],
  ["not loaded over https", { chip: "no WebGPU", sentence: "This browser gives no WebGPU to pages from another machine without https" }],
  ["GPU device lost", { chip: "GPU lost", sentence: "The graphics processor was lost" }],
  ["out of GPU memory", { chip: "GPU out of memory", sentence: "The graphics memory does not suffice" }],
  ["no GPU adapter", { chip: "no GPU", sentence: "This browser offers no graphics processor" }],
];
const failed = { chip: "GPU failed", sentence: "The graphics processor could not be used" }; // refused, not answered, or computed wrongly

// whyProcessor words a reason; had: a GPU computed before in this page, so that one which is not offered now was lost.
export function whyProcessor(reason, had) {
  const [text, why] = reasons.find(([text]) => reason.includes(text)) ?? ["", failed];
  return had && text === "no GPU adapter" ? whyProcessor("GPU device lost") : why;
}
