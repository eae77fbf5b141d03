// A kiosk's page closes the photograph of the last person. The address says after how many seconds
// without a touch: ?idle=300.

// clearWhenIdle loads the page anew when nobody has touched it for that long. A page that nobody
// has touched since it was loaded is left alone.
export function clearWhenIdle() {
  const seconds = Number(new URLSearchParams(location.search).get("idle"));
  if (!(seconds > 0)) return;
  let timer;
  const touched = () => {
    clearTimeout(timer);
    // replace leaves nothing behind that "back" could bring up.
    timer = setTimeout(() => location.replace(location.pathname + location.search), seconds * 1000);
  };
  for (const kind of ["pointerdown", "pointermove", "wheel", "keydown", "input", "drop", "paste"]) addEventListener(kind, touched, { capture: true, passive: true });
}
