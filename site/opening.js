// The ways in: a photograph that is chosen, dropped or pasted, and the sample.
import { SegmentError } from "./segmenter.js";

const $ = (id) => document.getElementById(id);

// takePhotographs calls open(blob, name, keepBanner) for each, with note(message, next) before where that is to be said of it, and fail(error) for a
// sample that cannot be had.
export function takePhotographs(open, fail, note) {
  let turn = 0; // raised by whatever is opened: a sample that arrives later is not shown in its place
  const take = (file, name, noted) => { turn++; open(file, name, noted); };

  $("file").onchange = () => { const [file] = $("file").files; $("file").value = ""; if (file) take(file, file.name); };
  for (const button of document.querySelectorAll("[data-action=open]")) button.onclick = () => $("file").click();
  for (const button of document.querySelectorAll("[data-action=sample]")) button.onclick = async () => {
    const mine = ++turn;
    try {
      const response = await fetch("sample.jpg");
      if (!response.ok) throw new Error();
      const sample = await response.blob();
      if (mine === turn) open(sample, "sample.jpg");
    } catch {
      if (mine === turn) fail(new SegmentError({ code: "image", message: "The sample could not be loaded.", next: "Is the program `serve` still running? Reload the page." }));
    }
  };

  let drags = 0;
  const files = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (files(event)) { event.preventDefault(); drags++; $("drop").hidden = false; } });
  addEventListener("dragleave", (event) => { if (files(event) && --drags <= 0) { drags = 0; $("drop").hidden = true; } });
  addEventListener("dragover", (event) => { if (files(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    drags = 0;
    $("drop").hidden = true;
    const list = event.dataTransfer.files;
    if (list.length > 1) note(`${list.length} files were dropped; ${list[0].name} is opened.`, "One image is shown at a time.");
    if (list.length > 0) take(list[0], list[0].name, list.length > 1);
  });
  addEventListener("paste", (event) => {
    const [file] = event.clipboardData?.files ?? [];
    if (file) take(file, file.name === "image.png" ? `pasted-${now()}.png` : file.name); // browsers call all that is no file so
  });
}

// now is the local time as 2026-11-22-181500.
function now() {
  const local = new Date(Date.now() - 60e3 * new Date().getTimezoneOffset());
  return local.toISOString().slice(0, 19).replace("T", "-").replaceAll(":", "");
}
