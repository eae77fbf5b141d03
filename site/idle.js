// A kiosk's page closes the photograph of the last person. The address says after how many seconds:
// ?idle=300. With ?kiosk serve starts the browser anew, too.
import { leave } from "./unsaved.js";

const wishes = new URLSearchParams(location.search), ms = 1000 * Number(wishes.get("idle"));
let timer, began;

// clockIdle has the page loaded anew when that time has passed since somebody touched it, or since
// an image came. Images that go on coming do not keep the first one on the screen for more than
// twice the time.
export function clockIdle({ touched = false } = {}) {
  if (!(ms > 0)) return;
  const now = performance.now();
  if (touched || !timer) began = now;
  clearTimeout(timer);
  timer = setTimeout(clear, Math.min(ms, began + 2 * ms - now));
}
function clear() {
  if (wishes.has("kiosk")) fetch("private/idle", { cache: "no-store", keepalive: true }).catch(() => {});
  // replace leaves nothing behind that "back" could bring up.
  leave(() => location.replace(location.pathname + location.search));
}

// clearWhenIdle starts the clock with each touch. A page that nobody has touched since it was
// loaded, and that no image came to, is left alone.
export function clearWhenIdle() {
  for (const kind of ["pointerdown", "pointermove", "wheel", "keydown", "input", "drop", "paste"]) addEventListener(kind, () => clockIdle({ touched: true }), { capture: true, passive: true });
}
