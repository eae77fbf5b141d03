package site

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
)

// load loads a mark's file by the control of the page.
func (p *page) load(rater, name string, content []byte) {
	p.t.Helper()
	p.do(fmt.Sprintf(`(() => {
		const data = new DataTransfer(), field = document.getElementById("mark-file");
		data.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q));
		document.getElementById("mark-rater").value = %q;
		field.files = data.files;
		field.dispatchEvent(new Event("change", { bubbles: true }));
	})()`, base64.StdEncoding.EncodeToString(content), name, rater))
}

// openMarks opens a photograph with the mock's model that takes marks.
func openMarks(t *testing.T, s *server, width, height int, extra ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	p := open(t, s, width, height, extra...)
	p.ready()
	p.asking()
	p.choose("marks")
	p.drop("scan.jpg", readBuilt(t, "sample.jpg"))
	p.until(sampleDone + ` && document.querySelectorAll("#rater-list li").length === 3`)
	return p
}

// Without marks one pass settles a result, and the page says so. Marks of a rater and of the user
// are loaded, listed and drawn, and passes settle around them. One that cannot be read is refused
// and leaves the result. Removed, they are gone.
func TestMarksInThePage(t *testing.T) {
	t.Parallel()
	p := openMarks(t, mock(t, nil), 1200, 800)
	list := func() string { return p.text("mark-list") }
	legend := func() string { return p.text("legend") }
	given := func() string {
		return get[string](p, `asked.at(-1).evidence.map(({ rater, class: c, name, png }) => [rater, c, name, png.byteLength].join(" ")).join("; ")`)
	}
	assert.False(t, p.visible("advanced"), "one pass has settled it: there is none to compare")
	assert.False(t, p.visible("recurrence-shown"))
	assert.Equal(t, []string{"You", "Ann", "Bob", "Eve"}, get[[]string](p, `[...document.getElementById("mark-rater").options].map(({ text }) => text)`))
	assert.False(t, p.visible("mark-structure"), "there is one structure alone")

	p.load("bob", "bob.png", []byte("bob"))
	p.until(sampleDone + ` && !document.getElementById("recurrence-shown").hidden`)
	assert.Equal(t, "bob brain bob.png 3", given())
	assert.Contains(t, list(), "bob.png")
	assert.Contains(t, legend(), "Bob, as marked")
	p.do(`document.getElementById("recurrences").open = true`)
	assert.Equal(t, "Rec2", p.text("recurrence-value"))
	assert.True(t, p.visible("advanced") && p.offered("recurrence-marks"))

	p.load("you", "mine.png", []byte("mine"))
	p.until(sampleDone + ` && document.querySelectorAll("#mark-list li").length === 2 && document.getElementById("legend").innerText.includes("You")`)
	assert.Equal(t, "bob brain bob.png 3; you brain mine.png 4", given())
	assert.Contains(t, legend(), "You, as marked")
	p.slide(firstWeight, 20)
	p.until(`asked.at(-1).raterWeights && ` + sampleDone)
	assert.Equal(t, "bob brain bob.png 3; you brain mine.png 4", given(), "a rater's weight keeps the marks")
	p.load("eve", "bad.png", []byte("bad"))
	p.until(`!document.getElementById("banner").hidden`)
	assert.Contains(t, p.text("banner"), "the pixel at 3, 4 has the value 77")
	assert.Equal(t, 2, get[int](p, `document.querySelectorAll("#mark-list li").length`))

	// By the keyboard: after a removal the focus is on the button below.
	p.do(`document.querySelector("#mark-list button").focus()`)
	assert.Equal(t, "Remove the mark of Bob, bob.png", get[string](p, `document.activeElement.ariaLabel`))
	p.press("Enter", true)
	assert.Equal(t, "mark-open", get[string](p, `document.activeElement.id`))
	p.until(sampleDone + ` && document.querySelectorAll("#mark-list li").length === 1`)
	assert.Equal(t, "you brain mine.png 4", given())
	p.do(`document.querySelector("#mark-list button").click()`)
	p.until(sampleDone + ` && document.getElementById("advanced").hidden`)
	assert.Empty(t, given())

	p.choose("levels")
	p.until(sampleDone + ` && !document.getElementById("levels").hidden`)
	assert.False(t, p.visible("marks"))
	assert.True(t, p.visible("recurrence-shown") && p.offered("recurrence-levels") && p.offered("recurrence-later"))
	p.clean()
}

// markedWeights are untrained weights of a model that takes marks.
func markedWeights(t *testing.T) []byte {
	t.Helper()
	about := segmenttest.Raters()
	about.Configuration = "tiny-evidence"
	file, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	data, err := segmenttest.Encode(file)
	require.NoError(t, err)
	return data
}

// A script gives marks, as bytes or as a PNG, and recalibrates around others. The page computes what
// the programs compute.
func evidenceOfScripts(p *page, files map[string][]byte) {
	t, mark := p.t, image.NewGray(image.Rect(0, 0, 120, 90))
	for i := range mark.Pix {
		mark.Pix[i] = []byte{255, segment.Unsaid, 0}[i%120/40]
	}
	encoded := func(m image.Image) string {
		var file bytes.Buffer
		require.NoError(t, png.Encode(&file, m))
		return base64.StdEncoding.EncodeToString(file.Bytes())
	}
	p.do(`(async () => {
		const file = (name, text) => new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name);
		globalThis.marks = [file("mark.png", "` + encoded(mark) + `"), file("nine.png", "` + encoded(image.NewGray(image.Rect(0, 0, 9, 9))) + `")];
		globalThis.photograph = file("small.png", "` + base64.StdEncoding.EncodeToString(files["small.png"]) + `");
		globalThis.mask = Uint8Array.from({ length: 120 * 90 }, (_, i) => [255, 128, 0][Math.floor(i % 120 / 40)]);
		globalThis.failure = (promise) => promise.then(() => "", (error) => (error.code ?? error.name) + ": " + error.message);
	})()`)
	require.NoError(t, p.segmentIn("small.png", "marked.safetensors", `roi: "none", evidence: [{ rater: "you", mask: marks[0] }]`))
	same := func(o segment.Options) {
		t.Helper()
		o.ROI, o.Recurrences = "none", segment.Trained
		want := natively(t, files["marked.safetensors"], files["small.png"], o)
		assert.Equal(t, want.Recurrences, get[int](p, "r.recurrences"))
		p.compare("r.probability(0)", want.Probability(0))
		p.compare("r.others(0)", want.Others(0))
		p.compare(`r.rater("bob", 0)`, want.Rater(1, 0))
	}
	same(segment.Options{Evidence: []segment.Evidence{{Rater: segment.Somebody, Mask: mark.Pix}}})
	assert.True(t, get[bool](p, "r.takesMarks"))
	p.do(`(async () => { globalThis.r = await r.recalibrate({ evidence: [{ rater: "bob", class: "brain", mask }], raterWeights: [1, 0.1, 1] }); })()`)
	same(segment.Options{Evidence: []segment.Evidence{{Rater: "bob", Mask: mark.Pix}}, RaterWeights: []float32{1, 0.1, 1}})
	p.do(`(async () => { globalThis.r = await r.recalibrate({ raterWeights: null }); })()`)
	same(segment.Options{Evidence: []segment.Evidence{{Rater: "bob", Mask: mark.Pix}}})
	p.do(`(async () => { globalThis.r = await r.recalibrate({ evidence: null }); })()`)
	same(segment.Options{})

	for given, want := range map[string]string{
		`{ rater: "ann", mask }`:                                      "TypeError: evidence is not a list",
		`[{ rater: 0, mask }]`:                                        "TypeError: evidence[0].rater is not the name",
		`[{ rater: "ann", class: 0, mask }]`:                          "TypeError: evidence[0].class is not the name",
		`[{ rater: "ann", mask: [255] }]`:                             "TypeError: evidence[0].mask is neither",
		`[{ rater: "carl", mask }]`:                                   `TypeError: small.png: evidence of "carl"`,
		`[{ rater: "ann", mask: mask.slice(1) }]`:                     "TypeError: small.png: evidence of ann: a mask of 10799 pixels",
		`[{ rater: "ann", mask: mask.map(() => 7) }]`:                 "TypeError: small.png: evidence of ann: the pixel at 0, 0 has the value 7",
		`[{ rater: "ann", mask: marks[1] }]`:                          "evidence: nine.png: the mark has 9×9 pixels",
		`[{ rater: "ann", mask: new Blob(["ann"]) }]`:                 "image: evidence[0].mask: this is a text file",
		`[{ rater: "ann", mask }, { rater: "ann", mask: mask }]`:      "TypeError: small.png: evidence of ann about brain is given twice",
		`[{ rater: "ann", mask: photograph }]`:                        "evidence: small.png: the pixel at 0, 0",
		`[{ rater: "you", mask }, { rater: "you", class: "", mask }]`: "",
	} {
		assert.Contains(t, get[string](p, `(async () => failure(r.recalibrate({ evidence: `+given+` })))()`), want, given)
	}
}
