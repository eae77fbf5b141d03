// On a phone the result comes first: the measurements are above the section that opens images. The
// document has the same order, for keys and screen readers.
import { $ } from "./dom.js";

export function resultFirst() {
  const narrow = matchMedia("(max-width: 600px)"),
    measurements = $("measurements"),
    image = document.querySelector("[aria-labelledby=h-image]");
  const place = () => (narrow.matches ? image.before(measurements) : image.after(measurements));
  narrow.addEventListener("change", place);
  place();
}
