// The ways in for a photograph: chosen, dropped or pasted.
import { $, all } from "./dom.js";

// takePhotographs calls open(blob, name, noted) for each. Before one of several it sends a note.
export function takePhotographs(open, send) {
  $("file").onchange = () => { const [file] = $("file").files; $("file").value = ""; if (file) open(file, file.name); };
  for (const button of all("[data-action=open]")) button.onclick = () => $("file").click();

  let drags = 0; // elements under the file
  const drag = (change) => { drags = Math.max(0, drags + change); send({ type: "set", dragging: drags > 0 }); };
  const listen = (type, act) => addEventListener(type, (event) => { if (event.dataTransfer?.types.includes("Files")) act(event); });
  listen("dragenter", (event) => { event.preventDefault(); drag(1); });
  listen("dragleave", () => drag(-1));
  listen("dragover", (event) => event.preventDefault());
  listen("drop", (event) => {
    event.preventDefault();
    drag(-drags);
    const { files } = event.dataTransfer, [file] = files, several = files.length > 1;
    if (several) send({ type: "note", message: `${files.length} files were dropped; ${file.name} is opened.`, next: "One image is shown at a time." });
    if (file) open(file, file.name, several);
  });
  addEventListener("paste", (event) => {
    const [file] = event.clipboardData?.files ?? [];
    // Browsers give the name image.png to pixels that were never a file.
    if (file) open(file, file.name === "image.png" ? `pasted-${now()}.png` : file.name);
  });
}

// now is the local time as 2026-11-22-181500.
function now() {
  const local = new Date(Date.now() - 60e3 * new Date().getTimezoneOffset());
  return local.toISOString().slice(0, 19).replace("T", "-").replaceAll(":", "");
}
