// A kiosk's page closes the photograph of the last person. The address says after how many seconds:
// ?idle=300. With ?kiosk, serve also restarts the browser.
import { leave } from "./unsaved.js";

const wishes = new URLSearchParams(location.search),
  ms = 1000 * Number(wishes.get("idle"));
let timer, began;

// clockIdle restarts the clock, which reloads the page when that time has passed since somebody
// touched it or an image came. If images keep coming, the page is reloaded after twice the time.
export function clockIdle({ touched = false } = {}) {
  if (!(ms > 0)) return;
  const now = performance.now();
  if (touched || !timer) began = now;
  clearTimeout(timer);
  timer = setTimeout(clear, Math.min(ms, began + 2 * ms - now));
}
async function clear() {
  // A page that is left at once may not have asked: serve hears of it first.
  if (wishes.has("kiosk"))
    await fetch("private/idle", { cache: "no-store", signal: AbortSignal.timeout(5e3) }).catch(
      () => {},
    );
  // replace leaves no entry to which "back" could return.
  leave(() => location.replace(location.pathname + location.search));
}

// clearWhenIdle starts the clock with each touch. A page that nobody has touched since it was
// loaded, and that got no image, is not reloaded.
export function clearWhenIdle() {
  for (const kind of ["pointerdown", "pointermove", "wheel", "keydown", "input", "drop", "paste"])
    addEventListener(kind, () => clockIdle({ touched: true }), { capture: true, passive: true });
}
