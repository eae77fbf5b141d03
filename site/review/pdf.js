// Makes a PDF (ISO 32000-1) of the report as the browser has laid it out: its texts, lines and
// pictures lie where the browser put them. The file embeds the fonts of its texts. report.js loads
// this module when it is wanted.
import { check } from "../page/addresses.js";
import { element } from "../page/dom.js";

const POINT = 72 / 96, // the file's unit; all other lengths are CSS pixels
  MM = 96 / 25.4,
  SHARP = 300 / 96; // pixels of a picture, in a CSS pixel
// A4, its margins, and what it holds between them.
const [WIDE, HIGH, LEFT, TOP, tallest] = [210, 297, 13, 12, 267].map((mm) => mm * MM);
const paper = { tallest, font: "MrPrism PDF" };
const FONTS = { Go: ["go-regular.ttf", 400], "Go-Bold": ["go-bold.ttf", 700] }; // file, weight
// What a break between pages leaves whole, if it is not long.
const WHOLE = "tr, li, p, dt, dd, h2, figure, header, footer, .doubt";

const deflated = async (data) => {
  const stream = new Blob([data]).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};
const short = (...all) => all.map((v) => +v.toFixed(2)).join(" ");
const hex = (numbers) => numbers.map((n) => n.toString(16).padStart(4, "0")).join("");
const utf16 = (text) => hex(Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)));
const sum = (parts) => parts.reduce((all, { length }) => all + length, 0);

// fontOf reads what a PDF needs of a TrueType font, in thousandths of its size, and has the browser
// know it. used are the characters that were written, by glyph. The first cmap of our fonts has
// format 4, and no array of glyphs.
async function fontOf([name, [file, weight]]) {
  const bytes = await (await check(file)).arrayBuffer(),
    view = new DataView(bytes),
    at = {};
  document.fonts.add(await new FontFace(paper.font, bytes, { weight: `${weight}` }).load());
  for (let o = 12; o < 12 + 16 * view.getUint16(4); o += 16)
    at[String.fromCharCode(...new Uint8Array(bytes, o, 4))] = view.getUint32(o + 8);
  const read = (o) => Math.round((1000 * view.getInt16(o)) / view.getUint16(at.head + 18)),
    last = view.getUint16(at.hhea + 34) - 1,
    widths = Array.from({ length: view.getUint16(at.maxp + 4) }, (_, glyph) =>
      read(at.hmtx + 4 * Math.min(glyph, last)),
    ),
    box = [36, 38, 40, 42].map((by) => read(at.head + by)),
    [ascent, descent] = [4, 6].map((by) => read(at.hhea + by));
  const glyphs = new Map(),
    map = at.cmap + view.getUint32(at.cmap + 8),
    list = view.getUint16(map + 6); // bytes
  for (let o = map + 14; o < map + 14 + list; o += 2) {
    const [to, from, delta] = [0, list + 2, 2 * list + 2].map((by) => view.getUint16(o + by));
    for (let code = from; code <= to && code < 0xffff; code++)
      glyphs.set(String.fromCharCode(code), (code + delta) & 0xffff);
  }
  return { name, bytes, glyphs, widths, ascent, descent, box, used: new Map() };
}
let fonts = null;

// A thing of a page is { unit, top, bottom, draw }. draw returns its operators (ISO 32000-1 annex
// A); at(x, y) are coordinates of the file, and add has its canvas, and returns that one's name.
function texted(unit, font, size, x, y, text) {
  const glyphs = Array.from(text, (char) => font.glyphs.get(char));
  glyphs.forEach((glyph, i) => font.used.set(glyph, text[i]));
  const set = `/${font.name} ${short(size * POINT)} Tf`,
    draw = (at) => `BT ${set} ${at(x, y)} Td <${hex(glyphs)}> Tj ET`;
  return { unit, top: y - size, bottom: y, draw };
}
function pictured(unit, { x, y, width, height }, canvas) {
  const size = short(width * POINT, 0, 0, height * POINT),
    draw = (at, add) => `q ${size} ${at(x, y + height)} cm /${add(canvas)} Do Q`;
  return { unit, top: y, bottom: y + height, draw };
}
function lined(unit, x, y, dx, dy, width, colour = [0, 0, 0], dash = []) {
  const set = `${short(...colour)} RG ${short(width * POINT)} w [${short(...dash)}] 0 d`,
    draw = (at) => `${set} ${at(x, y)} m ${at(x + dx, y + dy)} l S`;
  return { unit, top: y, bottom: y + dy, draw };
}

// textsOf yields what a page says: runs of characters of a font on a line. What a font lacks is a
// picture, which the browser writes.
function* textsOf(page) {
  const walker = document.createTreeWalker(page, NodeFilter.SHOW_TEXT),
    range = document.createRange();
  for (let node; (node = walker.nextNode());) {
    const unit = node.parentElement,
      style = getComputedStyle(unit),
      size = parseFloat(style.fontSize),
      font = fonts[style.fontWeight > 500 ? 1 : 0],
      runs = [];
    for (const { segment, index } of new Intl.Segmenter().segment(node.data)) {
      range.setStart(node, index);
      range.setEnd(node, index + segment.length);
      const { x, right, y, width, height } = range.getBoundingClientRect();
      if (!width) continue;
      const char = segment.normalize().replace(/^\s$/, " "),
        glyph = font.glyphs.get(char),
        last = runs.at(-1),
        near = Math.abs(last?.y - y) < 1 && (!glyph || Math.abs(last.end - x) < 0.3);
      if (!near || last.known !== Boolean(glyph))
        runs.push({ known: Boolean(glyph), x, end: x, y, height, text: "" });
      const run = runs.at(-1);
      run.text += char;
      run.x = Math.min(run.x, x); // of letters that go to the left
      run.end = glyph ? run.end + (font.widths[glyph] * size) / 1000 : Math.max(run.end, right);
    }
    for (const [i, { known, x, end, y, height, text }] of runs.entries()) {
      const line = y + (height * font.ascent) / (font.ascent - font.descent),
        box = { x, y, width: end - x, height };
      if (!i && unit.matches("ul:not(.keys) > li"))
        yield texted(unit, font, size, x - 1.2 * size, line, "•");
      if (known) yield texted(unit, font, size, x, line, text);
      else yield pictured(unit, box, written(text, box, line - y, style));
    }
  }
}
function written(text, { width, height }, base, { font }) {
  const [w, h] = [width, height].map((v) => Math.ceil(v * SHARP)),
    canvas = element("canvas", { width: w, height: h }),
    c = canvas.getContext("2d");
  c.fillStyle = "#fff";
  c.fillRect(0, 0, w, h);
  c.scale(SHARP, SHARP);
  Object.assign(c, { font, fillStyle: "#000" });
  c.fillText(text, 0, base, width);
  return canvas;
}

// othersOf yields the pictures, keys and borders of a page.
function* othersOf(page) {
  for (const unit of page.querySelectorAll("*")) {
    const style = getComputedStyle(unit),
      box = unit.getBoundingClientRect(),
      { x, y, right, bottom, width, height } = box;
    if (unit.matches("canvas")) yield pictured(unit, box, unit);
    if (unit.matches("path")) {
      const svg = unit.ownerSVGElement,
        place = svg.getBoundingClientRect(),
        k = place.width / svg.viewBox.baseVal.width,
        numbers = (text) => (text.match(/[\d.]+/g) ?? []).map(Number),
        [ax, ay, dx] = numbers(unit.getAttribute("d")).map((v) => k * v),
        colour = numbers(style.stroke).map((v) => v / 255),
        dash = numbers(style.strokeDasharray).map((v) => k * v * POINT),
        thick = k * parseFloat(style.strokeWidth);
      yield lined(unit, place.x + ax, place.y + ay, dx, 0, thick, colour, dash);
    }
    const [over, after, below, before] = ["Top", "Right", "Bottom", "Left"].map((side) =>
      style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    );
    if (over) yield lined(unit, x, y + over / 2, width, 0, over);
    if (below) yield lined(unit, x, bottom - below / 2, width, 0, below);
    if (before) yield lined(unit, x + before / 2, y, 0, height, before);
    if (after) yield lined(unit, right - after / 2, y, 0, height, after);
  }
}

// pagesOf parts what a page shows into pages of A4, and returns the operators of each. Several have
// numbers. add is as in a thing.
function pagesOf(page, add) {
  const origin = page.getBoundingClientRect(),
    things = [...othersOf(page), ...textsOf(page)],
    pages = [[]];
  let begin = origin.top;
  const at = (x, y) => short((x - origin.x + LEFT) * POINT, (HIGH - TOP - y + begin) * POINT);
  for (const one of things) {
    const { top, bottom, height } = one.unit.closest(WHOLE)?.getBoundingClientRect() ?? {};
    if (height < tallest / 4) Object.assign(one, { top, bottom });
    if (one.unit.matches("h2")) one.bottom += 2 * height; // no heading ends a page
  }
  for (const one of things.sort((a, b) => a.top - b.top)) {
    if (one.bottom - begin > tallest && one.top > begin) {
      begin = one.top;
      pages.push([]);
    }
    pages.at(-1).push(one.draw(at, add));
  }
  const research = page.querySelector(".research").textContent,
    foot = (n) => `${n} / ${pages.length}   ${research}`,
    y = begin + tallest + 4 * MM;
  if (pages.length > 1)
    for (const [i, one] of pages.entries())
      one.push(texted(page, fonts[0], 10, origin.x, y, foot(i + 1)).draw(at));
  return pages.map((one) => one.join("\n"));
}

// pdfOf resolves to the bytes of a PDF. lay({ tallest, font }) puts the report into the document
// and returns it: it is one page of A4 if it is no taller.
export async function pdfOf(lay) {
  fonts ??= await Promise.all(Object.entries(FONTS).map(fontOf));
  const page = lay(paper),
    pictures = [];
  let pages;
  try {
    pages = pagesOf(page, (canvas) => `I${pictures.push(canvas)}`);
  } finally {
    page.remove();
  }
  const objects = [[], []], // the catalogue, the list of pages, and others, as ASCII texts and bytes
    add = (...parts) => `${objects.push(parts)} 0 R`,
    end = "\nendstream",
    stream = (fields, data, filter) =>
      add(`<< ${fields} /Filter /${filter} /Length ${data.length} >>\nstream\n`, data, end),
    packed = async (data, fields = "") => stream(fields, await deflated(data), "FlateDecode");
  let resources = "/Font <<";
  for (const { name, bytes, widths, ascent, descent, box, used } of fonts) {
    const file = await packed(bytes, `/Length1 ${bytes.byteLength}`),
      kind = (subtype) => `/Type /Font /Subtype /${subtype} /BaseFont /${name}`,
      described = add(
        `<< /Type /FontDescriptor /FontName /${name} /Flags 32 /FontBBox [${short(...box)}] /Ascent ${ascent}`,
        ` /Descent ${descent} /CapHeight ${ascent} /ItalicAngle 0 /StemV 90 /FontFile2 ${file} >>`,
      ),
      glyphs = add(
        `<< ${kind("CIDFontType2")} /FontDescriptor ${described} /CIDToGIDMap /Identity /W [0 [${short(...widths)}]]`,
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
      ),
      meant = ([glyph, char]) => `1 beginbfchar <${hex([glyph])}> <${utf16(char)}> endbfchar\n`,
      unicode = await packed(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /U def /CMapType 2 def\n" +
          `1 begincodespacerange <0000> <ffff> endcodespacerange\n${[...used].map(meant).join("")}endcmap end end`,
      );
    resources += ` /${name} ${add(`<< ${kind("Type0")} /Encoding /Identity-H /DescendantFonts [${glyphs}] /ToUnicode ${unicode} >>`)}`;
  }
  resources += " >> /XObject <<";
  for (const [i, canvas] of pictures.entries()) {
    const jpeg = await new Promise((give) => canvas.toBlob(give, "image/jpeg", 0.95)),
      size = `/Width ${canvas.width} /Height ${canvas.height} /BitsPerComponent 8`,
      fields = `/Type /XObject /Subtype /Image ${size} /ColorSpace /DeviceRGB`;
    resources += ` /I${i + 1} ${stream(fields, new Uint8Array(await jpeg.arrayBuffer()), "DCTDecode")}`;
  }
  const form = `/Parent 2 0 R /MediaBox [${short(0, 0, WIDE * POINT, HIGH * POINT)}]`,
    kids = [];
  for (const one of pages) {
    const content = `/Contents ${await packed(one)} /Resources << ${resources} >> >>`;
    kids.push(add(`<< /Type /Page ${form} ${content} >>`));
  }
  const day = new Date().toISOString().replace(/[-T:]|\..*/g, ""),
    title = `/Title <feff${utf16(page.querySelector("h1").textContent)}>`,
    info = add(`<< ${title} /Producer (MrPrism) /CreationDate (D:${day}Z) >>`),
    shown = `/Lang (${document.documentElement.lang}) /ViewerPreferences << /DisplayDocTitle true >>`;
  objects[0] = [`<< /Type /Catalog /Pages 2 0 R ${shown} >>`];
  objects[1] = [`<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${kids.length} >>`];
  const parts = ["%PDF-1.7\n%", Uint8Array.of(226, 227, 207, 211), "\n"],
    places = objects.map((object, i) => {
      const at = `${sum(parts)}`;
      parts.push(`${i + 1} 0 obj\n`, ...object, "\nendobj\n");
      return `${at.padStart(10, "0")} 00000 n \n`;
    }),
    size = places.length + 1;
  parts.push(
    `xref\n0 ${size}\n0000000000 65535 f \n${places.join("")}trailer\n`,
    `<< /Size ${size} /Root 1 0 R /Info ${info} >>\nstartxref\n${sum(parts)}\n%%EOF\n`,
  );
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
