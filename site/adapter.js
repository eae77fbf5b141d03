// Why the processor computes, in words, and what can be done about it.

// The worker's reason is the text of a Go error. It holds one of these texts, of gpu.js where there
// is no adapter, else of shaders/gpu. The first that it holds counts.
const reasons = [
  ["this browser has no WebGPU", { chip: "no WebGPU", sentence: "This browser gives no WebGPU", next: "Current Chrome and Edge have it." }],
  ["not loaded over https", { chip: "no WebGPU", sentence: "This browser gives no WebGPU to pages from another machine without https",
    next: "Open the page over https, or on the machine that serves it." }],
  ["GPU device lost", { chip: "GPU lost", sentence: "The graphics processor was lost", next: "The page asks for it again after two minutes." }],
  ["out of GPU memory", { chip: "GPU out of memory", sentence: "The graphics memory does not suffice", next: "Closing other pages that use the graphics processor may help." }],
  ["no GPU adapter", { chip: "no GPU", sentence: "This browser offers no graphics processor",
    next: "It may be switched off in the browser's settings (graphics or hardware acceleration)." }],
];
// The GPU refused, did not answer or computed wrongly.
const failed = { chip: "GPU failed", sentence: "The graphics processor could not be used", next: "Please report this with the reason under About." };

// whyProcessor words a reason. had: a GPU computed before in this page, and was lost if none is
// offered now.
export function whyProcessor(reason, had) {
  const [text, why] = reasons.find(([text]) => reason.includes(text)) ?? ["", failed];
  return had && text === "no GPU adapter" ? whyProcessor("GPU device lost") : why;
}
