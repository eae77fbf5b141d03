package site

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/weights"
)

// pdf is the report that the page saves as a PDF, after saving: see read.
func (p *page) pdf(name string) (text string, pages int) {
	p.t.Helper()
	p.do(`saved = {}, document.getElementById("report-pdf").click()`)
	return read(p.t, name, p.savedAs("_report.pdf"))
}

// read is the text of a PDF, with one space where there are several, and the number of its pages.
// It checks that the file embeds its fonts, and that all words lie within the margins of A4.
// MRPRISM_SCREENSHOTS receives pictures of it by name.
func read(t *testing.T, name string, data []byte) (text string, pages int) {
	t.Helper()
	needed(t, "pdftotext")
	file := filepath.Join(t.TempDir(), name+".pdf")
	require.NoError(t, os.WriteFile(file, data, 0o644))
	said := func(program string, arguments ...string) string {
		out, err := exec.Command(program, arguments...).CombinedOutput()
		require.NoError(t, err, "%s: %s", program, out)
		return string(out)
	}
	if folder := os.Getenv("MRPRISM_SCREENSHOTS"); folder != "" {
		said("pdftoppm", "-r", "110", "-png", file, filepath.Join(folder, "pdf-"+name))
	}
	assert.Regexp(t, `^name +type .*\n-.*\nGo +CID TrueType +Identity-H +yes no +yes .*\nGo-Bold +CID TrueType +Identity-H +yes no +yes .*\n$`, said("pdffonts", file), "name, type, embedded, subset, unicode")
	about := said("pdfinfo", file)
	assert.Regexp(t, `Title: +MrPrism: `, about)
	assert.Contains(t, about, "(A4)")
	_, err := fmt.Sscanf(about[strings.Index(about, "Pages:"):], "Pages: %d", &pages)
	require.NoError(t, err)
	words := regexp.MustCompile(`xMin="(.+)" yMin="(.+)" xMax="(.+)" yMax="(.+)">(.+)<`).FindAllStringSubmatch(said("pdftotext", "-bbox", file, "-"), -1)
	require.NotEmpty(t, words)
	for _, word := range words {
		for i, most := range []float64{595.28 - 36, 841.89 - 20} {
			from, err := strconv.ParseFloat(word[1+i], 64)
			require.NoError(t, err)
			to, err := strconv.ParseFloat(word[3+i], 64)
			require.NoError(t, err)
			assert.True(t, from > 30 && to < most, "%s: %v", name, word)
		}
	}
	return regexp.MustCompile(`[\s ]+`).ReplaceAllString(said("pdftotext", "-layout", file, "-"), " "), pages
}

// A report that is longer than a page goes on on others, which have numbers. Pictures have 300 dpi.
// What makes it comes with the first press, and once it is there, a network is not needed.
func TestPDFOfSeveralPages(t *testing.T) {
	t.Parallel()
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	limits := strings.Replace(cardOfLevels, "length: 20", "length: 120", 1)
	s := serve(t, built(t, map[string][]byte{"worker.js": worker, "build.js": []byte(limits)}), nil)
	p := open(t, s, 390, 844)
	p.ready()
	p.sample()
	p.saving()
	s.mu.Lock()
	assert.NotRegexp(t, `pdf\.js|\.ttf`, strings.Join(s.requests, " "))
	s.mu.Unlock()
	text, pages := p.pdf("long")
	assert.Equal(t, 3, pages)
	for i := range 120 {
		assert.Equal(t, 1, strings.Count(text, fmt.Sprintf("Limit %d: it is long", i)))
	}
	assert.Contains(t, text, "3 / 3 For research use only.")
	assert.Regexp(t, `Name Date Signature 3 / 3`, text)
	require.NoError(t, chromedp.Do(p.ctx, chromedp.Reload()))
	p.ready()
	p.until(`caches.keys().then((names) => caches.open(names[0])).then((all) => all.match("go-bold.ttf"))`)
	s.http.Close()
	p.run(chromedp.Reload())
	p.ready()
	p.sample()
	p.saving()
	again, _ := p.pdf("offline")
	assert.Contains(t, again, "Limit 119: it is long")
	p.clean()
}

// A table is parted between its rows, long words and long texts wrap, and what the fonts lack is
// drawn. The maker takes any page that looks like a report.
func TestPDFOfTables(t *testing.T) {
	t.Parallel()
	p := open(t, mock(t, nil), 900, 700)
	p.ready()
	p.saving()
	p.do(`(async () => {
		const [{ pdfOf }, { element, table }] = await Promise.all([import("./pdf.js"), import("./dom.js")]);
		const rows = Array.from({ length: 150 }, (_, i) => ["Row" + i, "value" + i, i % 10 ? "" : "long ".repeat(60)]);
		const bytes = await pdfOf(({ font }) => {
			const page = element("article", { id: "report" }, element("header", {}, element("h1", {}, "MrPrism: Größe")), element("p", { className: "research" }, "Research"),
				element("dl", {}, element("dt", {}, "Word"), element("dd", {}, "w".repeat(300)), element("dt", {}, "Names"), element("dd", {}, "Łukasz Žižek, Ελένη, Юлия, שרה, 山田 太郎, e\u0301, 👁")), table(["A", "B", "C"], rows));
			page.style.fontFamily = font;
			document.body.append(page);
			return page;
		});
		saved["table.pdf"] = URL.createObjectURL(new Blob([bytes]));
	})()`)
	text, pages := read(t, "table", p.savedAs("table.pdf"))
	assert.Greater(t, pages, 3)
	for i := range 150 {
		assert.Equal(t, 1, strings.Count(text, fmt.Sprintf("Row%d value%d ", i, i)), "row %d is whole", i)
	}
	assert.Equal(t, 15*60, strings.Count(text, "long"))
	assert.Equal(t, 300, strings.Count(text, "w")-strings.Count(text, "Row"))
	assert.Contains(t, text, "Größe")
	assert.Contains(t, text, "Łukasz Žižek, Ελένη, Юлия, , , é,")
	assert.False(t, get[bool](p, `Boolean(document.getElementById("report"))`))
	p.clean()
}

// Who the patient is stands in the report only if the user wants it of this photograph, and is
// asked of the worker only then.
func TestPatientInReports(t *testing.T) {
	t.Parallel()
	pixels := make([]byte, 300*200)
	for i := range pixels {
		pixels[i] = byte(i * 7)
	}
	file := dicomtest.Slice(300, 200, pixels, 1, map[uint32]string{
		0x00080005: "ISO_IR 144 ", 0x00080020: "20260901", 0x00100010: "\xb8\xd2\xd0\xdd\xde\xd2^\xce\xdb\xd8\xef", 0x00100020: "OD-4711 ", 0x00100030: "19610203",
	})
	s := real(t, map[string][]byte{"w.safetensors": tinyWeights(t, weights.LabelsRaters, nil)})
	s.wishes = "?device=processor"
	p := open(t, s, 900, 700)
	p.ready()
	p.saving()
	p.own("w.safetensors")
	p.drop("eye.dcm", file)
	p.until(`document.getElementById("file-line").textContent.includes("eye.dcm") && ` + sampleDone)
	text, pages := p.pdf("stranger")
	assert.NotRegexp(t, `Patient|4711|1961`, text)
	assert.Equal(t, 1, pages)
	p.click("report-identity")
	p.until(`document.getElementById("report-identity").checked`)
	for _, paper := range []string{"a4", "pdf"} {
		assert.Contains(t, p.reported("patient", paper), "Patient Иванов, Юлия Patient ID OD-4711 Born 3 February 1961 Taken 1 September 2026", paper)
	}
	p.drop("photo.png", photo(t, 300, 200))
	p.until(`document.getElementById("file-line").textContent.includes("photo.png") && ` + sampleDone)
	assert.False(t, p.visible("report-identity"))
	assert.NotContains(t, p.reported("other", "a4"), "Patient")

	for lines, want := range map[string]string{
		`"ISO_IR 100", 10, "M", 0xfc, "ller^Anna Maria^^Dr.", 10, 10, 10`:                                                            "Müller, Anna Maria Dr.|",
		`"\\\\ISO 2022 IR 87", 10, "Yamada^Tarou=", 27, "$B;3ED", 27, "(B^", 27, "$BB@O:", 27, "(B=", 10, "7", 10, 10`:               "Yamada, Tarou / 山田, 太郎|7",
		`"\\\\ISO 2022 IR 149", 10, "Hong^Gildong=", 27, "$)C", 0xfb, 0xf3, "^", 27, "$)C", 0xd1, 0xce, 0xd4, 0xd7, "=", 10, 10, 10`: "Hong, Gildong / 洪, 吉洞|",
		`10, 10, 10, 10`: "|",
	} {
		expression := fmt.Sprintf(`import("./identity.js").then(({ identityOf }) => { const one = identityOf(Uint8Array.from([%s].flatMap((part) => typeof part === "number" ? part : [...part].map((c) => c.charCodeAt(0))))); return one.name + "|" + one.id; })`, lines)
		assert.Equal(t, want, get[string](p, expression), lines)
	}
	p.clean()
}
