package site

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	printing "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The card of the mock's model "levels", as cmd/bundle writes its limits.
const cardOfLevels = `export const version = "abc1234 0f0f0f0f", scripts = {};
export const limits = { levels: ["It fails in pathologic myopia.", ...Array.from({ length: 20 }, (_, i) => "Limit " + i + ": " + "it is long and takes a line and a bit more. ".repeat(3)), "Photographs must be upright: turned by 90° the cup loses 8 to 11 points."] };
`

// reporting is the mock with a card.
func reporting(t *testing.T) *server {
	t.Helper()
	worker, err := os.ReadFile("testdata/mock_worker.js")
	require.NoError(t, err)
	return serve(t, built(t, map[string][]byte{"worker.js": worker, "sw.js": noKeeper, "build.js": []byte(cardOfLevels)}), nil)
}

// printed is what the browser prints of the page on paper of a size in inches: a PDF, and its text.
// MRPRISM_SCREENSHOTS receives pictures of it by name.
func (p *page) printed(name string, width, height float64) string {
	p.t.Helper()
	if _, err := exec.LookPath("pdftotext"); err != nil {
		missing(p.t, "pdftotext is missing: run make setup")
	}
	pdf, err := chromedp.Run(p.ctx, func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, target, printing.PrintToPDF, printing.PrintToPDFParams{PaperWidth: width, PaperHeight: height})
		if err != nil {
			return nil, err
		}
		return r.Data, nil
	})
	require.NoError(p.t, err)
	path := filepath.Join(p.t.TempDir(), name+".pdf")
	require.NoError(p.t, os.WriteFile(path, pdf, 0o644))
	if folder := os.Getenv("MRPRISM_SCREENSHOTS"); folder != "" {
		out, err := exec.Command("pdftoppm", "-r", "110", "-png", path, filepath.Join(folder, "report-"+name)).CombinedOutput()
		require.NoError(p.t, err, string(out))
	}
	text, err := exec.Command("pdftotext", "-layout", path, "-").Output()
	require.NoError(p.t, err)
	require.Equal(p.t, 1, bytes.Count(text, []byte("\f")), "one page of %s:\n%s", name, text)
	return regexp.MustCompile(`[\s ]+`).ReplaceAllString(string(text), " ")
}

var papers = map[string][2]float64{"a4": {8.27, 11.69}, "letter": {8.5, 11}}

// reported is the text of the report on paper, or in the PDF that the page saves.
func (p *page) reported(name, paper string) string {
	p.t.Helper()
	if paper == "pdf" {
		text, _ := p.pdf(name)
		return text
	}
	return p.printed(name+"-"+paper, papers[paper][0], papers[paper][1])
}

// The report of a result says everything that one has to know of it, on one page, and nothing that
// identifies a person unless the user wants it.
func TestReport(t *testing.T) {
	t.Parallel()
	p := open(t, reporting(t), 1440, 900)
	p.ready()
	empty := p.printed("nothing", 8.27, 11.69)
	assert.Contains(t, empty, "Open a photograph", "without a result the page itself is printed")
	p.sample()
	p.saving()
	for _, paper := range []string{"a4", "letter", "pdf"} {
		text := p.reported("sample", paper)
		for _, want := range []string{
			"For research use only. Not a medical device", "Cup/disc, vertical 0.52 0.47 – 0.58 0.42 – 0.66", "Disc, area 26 735 px 25 131 – 28 072 24 062 – 29 943", "Cup/disc, horizontal 0.50 0.45 – 0.55",
			"Experts' range 90 % interval", "in 90 of 100 images like those", "Model Fundus: optic disc and cup", "Weights, SHA-256 ab12", "MrPrism abc1234 0f0f0f0f",
			"Test adapter [mock], f32, Rec3", "1536 × 1152 px, opened on", "369 × 369 px at", "Corrected by hand nothing", "Given marks none",
			"It fails in pathologic myopia.", "Photographs must be upright", "weights/levels.md", "Name Date Signature", "Disc, consensus", "Cup, consensus",
		} {
			assert.Contains(t, text, want, paper)
		}
		assert.NotContains(t, text, "sample", "the file's name")
		assert.NotContains(t, text, "doubts this result")
		assert.NotContains(t, text, "Open image", "the page itself")
	}
	assert.False(t, get[bool](p, `Boolean(document.getElementById("report"))`), "it is gone after printing")

	p.do(`document.getElementById("language").click()`)
	p.until(`document.documentElement.lang === "de"`)
	for _, paper := range []string{"a4", "pdf"} {
		text := p.reported("german", paper)
		for _, want := range []string{"Bericht einer Segmentierung", "Vertrauenswürdig", "Papille, Fläche 26 735 px", "Exkavation/Papille, vertikal 0,52 0,47 – 0,58", "geöffnet am", "Grenzen des Modells", "Bilder müssen aufrecht sein", "Unterschrift"} {
			assert.Contains(t, text, want, paper)
		}
	}
	p.do(`document.getElementById("language").click()`)

	p.click("report-file")
	p.click("report-has-reference")
	p.until(`document.activeElement.id === "report-reference"`)
	for _, key := range "OD 7" {
		p.press(string(key), false)
	}
	p.click("report-has-visit")
	p.do(`document.getElementById("report-visit").value = "3 months after Ärztin Юлия 山田"`)
	for _, paper := range []string{"a4", "pdf"} {
		text := p.reported("identified", paper)
		assert.Contains(t, text, "File sample.jpg", paper)
		assert.Contains(t, text, "Reference OD 7", paper)
		assert.Contains(t, text, "Visit 3 months after Ärztin Юлия", paper)
	}
	p.click("report-has-reference")
	assert.NotContains(t, p.printed("hidden", 8.27, 11.69), "OD 7", "a reference whose tick is gone")

	p.do(`window.print = () => { globalThis.asked = true; }`)
	p.click("report-print")
	assert.True(t, get[bool](p, "asked"))
	p.clean()
}

// A doubt stands first. Without a structure there are no figures.
func TestReportOfDoubts(t *testing.T) {
	t.Parallel()
	p := open(t, reporting(t), 1440, 900)
	p.ready()
	p.dropped("odd.jpg")
	p.saving()
	for _, paper := range []string{"a4", "letter", "pdf"} {
		text := p.reported("doubted", paper)
		assert.Regexp(t, `decisions\. The model doubts this result\. This picture is unlike .* Its outline and figures may be wrong\.`, text)
		assert.Contains(t, text, "It need not hold where the model doubts its result.")
	}
	p.dropped("nodisc.jpg")
	text := p.printed("not-found", 8.27, 11.69)
	assert.Contains(t, text, "No disc was found in this picture. There are no figures.")
	assert.NotContains(t, text, "area")
	p.choose("marks")
	p.dropped("scan.jpg")
	p.until(`!document.getElementById("marks").hidden && ` + sampleDone)
	text = p.printed("no-card", 8.27, 11.69)
	assert.Contains(t, text, "These weights have no card")
	assert.Contains(t, text, "These weights cannot tell whether a picture is of their kind.")
	p.clean()
}

// What was corrected by hand and which marks were given is said.
func TestReportOfCorrections(t *testing.T) {
	t.Parallel()
	p := correcting(t, "marks", 1440, 900)
	x, y, k := p.middle()
	p.drag([2]float64{x, y}, [2]float64{x + 1.4*0.25*369*k, y})
	p.until(`document.getElementById("measure-body").textContent.includes("by hand")`)
	p.load("bob", "patient-7-bob.png", []byte("bob"))
	p.until(`document.querySelectorAll("#mark-list li").length === 1 && ` + sampleDone)
	p.do(`document.querySelectorAll("input[name=rater]").forEach((box) => box.checked || box.click())`)
	p.until(`document.getElementById("legend").innerText.includes("Eve")`)
	text := p.printed("corrected", 8.27, 11.69)
	assert.Regexp(t, `Corrected by hand Consensus: area [\d ]+ → [\d ]+ px`, text)
	assert.Contains(t, text, "Brain, area, corrected by hand")
	assert.Contains(t, text, "ranges and intervals are still those of the model")
	assert.Contains(t, text, "Given marks Bob, brain")
	assert.NotContains(t, text, "patient", "the mark's file name")
	assert.Contains(t, text, "Brain, consensus, corrected by hand")
	assert.Contains(t, text, "Bob, as marked")
	p.clean()
}
