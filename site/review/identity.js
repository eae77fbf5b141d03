// What a DICOM file says of a person, as texts. report.js writes them if the user wants it.

// Encodings by the number, or else the name, in a Defined Term (PS3.3 C.12.1.1.2).
const ENCODINGS = new Map(
  "13 shift_jis,58 gb2312,87 iso-2022-jp,101 latin2,109 latin3,110 latin4,126 greek,127 arabic,138 hebrew,144 cyrillic,148 latin5,149 euc-kr,159 iso-2022-jp,166 tis-620,192 utf-8,18030 gb18030,GBK gbk"
    .split(",")
    .map((line) => line.split(" ")),
);

// identityOf reads dicom.Header.Identity: { name, id, born, taken }, dates as YYYYMMDD. Of several
// sets of characters the last one is taken, which goes on where the others end.
export function identityOf(lines) {
  const [set] = new TextDecoder("latin1").decode(lines).split("\n"),
    encoding = ENCODINGS.get(/(\d+)\s*$/.exec(set)?.[1] ?? set) ?? "latin1",
    plain = (text) => text.replace(/\p{Cc}[!-/]+[@-Z]/gu, "").trim(), // what changes the set (ISO/IEC 2022)
    texts = new TextDecoder(encoding).decode(lines).split("\n").map(plain),
    [, forms, id, born, taken] = texts;
  // A name has up to three forms, parted by "=", and each up to five parts (PS3.5 6.2.1).
  const person = (form) => {
    const [family, ...others] = form.split("^");
    return [family, others.filter(Boolean).join(" ")].filter(Boolean).join(", ");
  };
  return { name: forms.split("=").map(person).filter(Boolean).join(" / "), id, born, taken };
}
