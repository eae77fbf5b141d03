package site

import (
	"bytes"
	"cmp"
	"fmt"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
)

// TestScreenshots writes what people see, for eyes, to the folder that MRPRISM_SCREENSHOTS names.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	s := mock(t, nil)
	for _, size := range []struct {
		name          string
		width, height int
	}{{"desk", 1440, 900}, {"phone", 390, 844}, {"kiosk", 1080, 1920}} {
		p := open(t, s, size.width, size.height, chromedp.Flag("force-dark-mode", size.name != "desk"))
		shot := func(step string) {
			p.still()
			p.shot(filepath.Join(folder, size.name+"-"+step+".png"))
		}
		p.ready()
		shot("1-welcome")
		p.do(`document.querySelector("[data-action=sample]").click()`)
		p.until(`!document.getElementById("save").hidden && !document.getElementById("legend").hidden`)
		shot("2-result")
		p.do(`document.getElementById("measurements").scrollIntoView()`)
		shot("2-result-measurements")
		p.do(`document.getElementById("panel").scrollTop = 0`)
		p.do(`document.getElementById("zoom-region").click()`)
		shot("3-region")
		p.do(`document.querySelector("input[value=disagreement]").click(), document.getElementById("level-all").click()`)
		shot("4-levels")
		p.do(`document.getElementById("zoom-fit").click(), document.getElementById("place").click()`)
		shot("5-placing")
		p.do(`document.getElementById("place-cancel").click(), document.getElementById("model").value = "raters", document.getElementById("model").onchange()`)
		p.until(`document.getElementById("progress").hidden && document.querySelectorAll("#rater-list li").length === 7`)
		p.do(`document.querySelectorAll("input[name=rater]").forEach((box) => box.click()), document.getElementById("zoom-region").click()`)
		shot("6-raters")
		p.drop("notes.png", []byte("this is text"))
		p.until(`!document.getElementById("banner").hidden`)
		shot("7-error")
		photo := readBuilt(t, "sample.jpg")
		p.click("banner-close")
		p.choose("levels")
		p.until(`!document.getElementById("levels").hidden && ` + sampleDone)
		p.drop("odd.jpg", photo)
		p.until(`document.getElementById("file-line").textContent.includes("odd.jpg") && ` + sampleDone)
		p.do(`document.querySelector("input[value=heat]").click(), document.getElementById("level-all").click()`)
		shot("8-doubted")
		p.do(`document.getElementById("measurements").scrollIntoView()`)
		shot("8-doubted-measurements")
		p.click("zoom-region")
		p.do(`document.querySelector("input[value=none]").click()`)
		shot("9-doubted-region")
		p.drop("nodisc.jpg", photo)
		p.until(`document.getElementById("file-line").textContent.includes("nodisc.jpg") && ` + sampleDone)
		shot("10-not-found")
		p.choose("marks")
		p.drop("scan.jpg", photo)
		p.until(`document.getElementById("advanced").hidden && ` + sampleDone)
		p.do(`document.getElementById("experts").scrollIntoView({ block: "end" })`)
		shot("11-settled")
		p.load("bob", "bob-2026-11-23-second-reading.png", []byte("bob"))
		p.load("you", "mine.png", []byte("mine"))
		p.until(`document.querySelectorAll("#mark-list li").length === 2 && ` + sampleDone)
		p.do(`document.getElementById("marks").scrollIntoView({ block: "end" })`)
		shot("12-marks")
	}
}

// TestScreenshotsOfAPhotograph drops the photograph that MRPRISM_PHOTOGRAPH names on the site with
// shipped weights, of MRPRISM_MODEL or fundus, and shows the contours of all raters.
func TestScreenshotsOfAPhotograph(t *testing.T) {
	t.Parallel()
	folder, file := os.Getenv("MRPRISM_SCREENSHOTS"), os.Getenv("MRPRISM_PHOTOGRAPH")
	if folder == "" || file == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder, or MRPRISM_PHOTOGRAPH no file")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	photograph, err := os.ReadFile(file)
	require.NoError(t, err)
	name := cmp.Or(os.Getenv("MRPRISM_MODEL"), "fundus")
	_, files := shippedModel(t, name)
	s := real(t, files)
	s.wishes = "?mode=look"
	p := open(t, s, 1440, 900)
	p.ready()
	p.do(`(document.getElementById("model").value = "` + name + `", document.getElementById("model").dispatchEvent(new Event("change")))`)
	p.drop(filepath.Base(file), photograph)
	p.until(`!document.getElementById("save").hidden && document.getElementById("progress").hidden`)
	p.do(`document.querySelectorAll("input[name=rater]").forEach((box) => box.click())`)
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desk", 1440, 900}, {"phone", 390, 844}, {"kiosk", 1080, 1920}} {
		p.run(chromedp.EmulateViewport(size.width, size.height))
		for _, view := range []string{"fit", "region"} {
			p.do(`document.getElementById("zoom-` + view + `").click()`)
			p.still()
			p.shot(filepath.Join(folder, "photograph-"+size.name+"-"+view+".png"))
		}
		p.do(`document.getElementById("measure-more").open = true, document.getElementById("measure-more").scrollIntoView()`)
		p.shot(filepath.Join(folder, "photograph-"+size.name+"-figures.png"))
		p.do(`document.getElementById("measure-more").open = false`)
	}
	p.clean()
}

// TestPictureOfTheReadme writes page.png, the picture in README.md, to the folder that
// MRPRISM_SCREENSHOTS names: the sample in a list of photographs by the generator.
func TestPictureOfTheReadme(t *testing.T) {
	folder := os.Getenv("MRPRISM_SCREENSHOTS")
	if folder == "" {
		t.Skip("MRPRISM_SCREENSHOTS names no folder")
	}
	require.NoError(t, os.MkdirAll(folder, 0o755))
	_, files := shippedModel(t, "fundus")
	s := real(t, files)
	s.wishes = "?mode=look"
	p := open(t, s, 1200, 760)
	p.ready()
	paths := []string{filepath.Join(t.TempDir(), "sample.jpg")}
	require.NoError(t, os.WriteFile(paths[0], readBuilt(t, "sample.jpg"), 0o644))
	for seed := uint64(1); seed <= 4; seed++ {
		var file bytes.Buffer
		require.NoError(t, jpeg.Encode(&file, synthetic.Photograph(seed, 1024, 768), nil))
		paths = append(paths, filepath.Join(filepath.Dir(paths[0]), fmt.Sprintf("drawn-%d.jpg", seed)))
		require.NoError(t, os.WriteFile(paths[seed], file.Bytes(), 0o644))
	}
	p.upload("file", paths...)
	p.allComputed()
	p.onStage("sample.jpg")
	p.do(`document.querySelector("input[value=disagreement]").click(), document.getElementById("level-all").click()`)
	p.until(`document.getElementById("legend").innerText.includes("pale")`)
	p.click("zoom-region")
	p.do(`document.getElementById("panel").scrollTop = document.getElementById("measurements").offsetTop - 8, document.activeElement.blur()`)
	p.still()
	p.shot(filepath.Join(folder, "page.png"))
	p.clean()
}
