// The ways in for photographs: chosen, a folder's, of the camera, dropped or pasted.
import { taking } from "./dom.js";

// takePhotographs calls open(files) with each list of { blob, name }. along: images that are
// already open should stay. folder: some files may be no images.
export function takePhotographs(open, send) {
  taking("file", (files) => open(files.map(named)));
  taking("folder", (files) => open(ordered(files.map(named)), { folder: true }));
  taking("camera", (files) => open(files.map(named), { along: true }));

  let drags = 0; // elements under the dragged file
  const drag = (change) => {
    drags = Math.max(0, drags + change);
    send({ type: "set", dragging: drags > 0 });
  };
  const listen = (type, act) =>
    addEventListener(type, (event) => {
      if (event.dataTransfer?.types.includes("Files")) act(event);
    });
  listen("dragenter", (event) => {
    event.preventDefault();
    drag(1);
  });
  listen("dragleave", () => drag(-1));
  listen("dragover", (event) => event.preventDefault());
  listen("drop", (event) => {
    event.preventDefault();
    drag(-drags);
    const { items, files } = event.dataTransfer;
    // Entries have to be asked for before the event ends.
    const entries = [...items].map((item) => item.webkitGetAsEntry?.()),
      folder = entries.some((entry) => entry?.isDirectory);
    if (!folder) return open([...files].map(named));
    send({ type: "note", message: "Reading the folder …", of: "folder" });
    Promise.all(entries.filter(Boolean).map((entry) => walked(entry, ""))).then((all) =>
      open(ordered(all.flat()), { folder: true }),
    );
  });
  addEventListener("paste", ({ clipboardData }) => {
    const files = [...(clipboardData?.files ?? [])].map(named);
    // Browsers call pixels that were never a file image.png.
    for (const file of files) if (file.name === "image.png") file.name = `pasted-${now()}.png`;
    open(files);
  });
}

// named is a chosen, dropped or pasted file. The folder that was chosen is not in its name.
const named = (blob) => ({ blob, name: inFolder(blob.webkitRelativePath || blob.name) });

// paired joins the NAME.hdr and NAME.img of a NIfTI volume into one file: 348 bytes of the header,
// and the values after it.
export function paired(files) {
  const named = new Map(files.map((file) => [file.name, file])),
    taken = new Set();
  const joined = files.map((file) => {
    const values =
      /\.hdr$/i.test(file.name) &&
      named.get(file.name.replace(/hdr$/, "img").replace(/HDR$/, "IMG"));
    if (!values || values === file) return file;
    taken.add(values);
    return { ...file, blob: new Blob([file.blob.slice(0, 348), values.blob]) };
  });
  return joined.filter((_, i) => !taken.has(files[i]));
}

// inFolder is a path without the folder that was chosen.
const inFolder = (path) => path.replace(/^[^/]*\//, "");

// ordered are the files of a folder in the order of their names, where 2 comes before 10, without
// hidden ones.
const { compare } = new Intl.Collator("en", { numeric: true });
const ordered = (files) =>
  files.filter(({ name }) => !/(^|\/)\./.test(name)).sort((a, b) => compare(a.name, b.name));

// walked resolves to all files in a dropped entry. It skips files that cannot be read.
async function walked(entry, path) {
  if (entry.isFile)
    return new Promise((resolve) =>
      entry.file(
        (file) => resolve([{ blob: file, name: path + file.name }]),
        () => resolve([]),
      ),
    );
  const reader = entry.createReader(),
    lists = [];
  for (;;) {
    // browsers return a hundred at a time
    const entries = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!entries.length) return lists.flat();
    const below = entry.fullPath.replace(/^\/[^/]*\/?/, "");
    lists.push(...(await Promise.all(entries.map((one) => walked(one, below && `${below}/`)))));
  }
}

// now is the local time as 2026-11-22-181500.
export function now() {
  const local = new Date(Date.now() - 60e3 * new Date().getTimezoneOffset());
  return local.toISOString().slice(0, 19).replace("T", "-").replaceAll(":", "");
}
