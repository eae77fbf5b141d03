package site

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/dicom"
	"mrprism/internal/files/dicom/elements"
	"mrprism/internal/files/imageio"
)

// photographed is a DICOM file of a photograph, in study 1.2.3.n.
func photographed(n int) []byte {
	m := imageio.Convert(synthetic.Photograph(uint64(n), 512, 384))
	var meta, set elements.Set
	meta.Text(0x00020010, "UI", "1.2.840.10008.1.2.1")
	set.Text(0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.77.1.5.1")
	set.Text(0x00080018, "UI", fmt.Sprintf("1.2.3.%d.1.1", n))
	set.Text(0x00100010, "PN", "Test^Tess")
	set.Text(0x00100020, "LO", fmt.Sprint("P", n))
	set.Text(0x0020000d, "UI", fmt.Sprint("1.2.3.", n))
	set.Text(0x0020000e, "UI", fmt.Sprintf("1.2.3.%d.1", n))
	set.Words(0x00280002, 3)
	set.Text(0x00280004, "CS", "RGB")
	for i, tag := range []uint32{0x00280006, 0x00280010, 0x00280011, 0x00280100, 0x00280101, 0x00280102, 0x00280103} {
		set.Words(tag, []int{0, m.H, m.W, 8, 8, 7, 0}[i])
	}
	set.Bytes(0x7fe00010, "OB", m.Pix)
	out := append(make(elements.Set, 128), "DICM"...)
	out.Bytes(0x00020000, "UL", []byte{byte(len(meta)), 0, 0, 0})
	return append(append(out, meta...), set...)
}

// serveWith is cmd/serve with flags, as a program of its own.
func serveWith(t *testing.T, args ...string) *server {
	t.Helper()
	built(t, nil) // or there is nothing to serve
	program := filepath.Join(t.TempDir(), "serve")
	out, err := exec.Command("go", "build", "-o", program, "../cmd/serve").CombinedOutput()
	require.NoError(t, err, "%s", out)
	command := exec.Command(program, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	said, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { command.Process.Kill(); command.Wait() })
	text, address := "", ""
	for part := make([]byte, 1000); address == ""; {
		n, err := said.Read(part)
		require.NoError(t, err)
		text += string(part[:n])
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(strings.ReplaceAll(text, args[1], ""))
	}
	go io.Copy(io.Discard, said)
	return &server{URL: address, wishes: "?device=processor"}
}

// says waits for what the page says beside a button.
func (p *page) says(button, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.getElementById("%s-says").textContent.includes(%q)`, button, text))
}

// A reader sends a result to the archive of serve, once the files keep patient and study: it comes
// under the study of its source, and the page says so. A list is sent as a whole.
func TestSendToArchive(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	stored, refuse := map[string][]string{}, false // SOP Instance UIDs by study
	archive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || refuse {
			w.WriteHeader(http.StatusConflict)
			return
		}
		parts := multipart.NewReader(r.Body, parameters["boundary"])
		for part, err := parts.NextPart(); err == nil; part, err = parts.NextPart() {
			content, _ := io.ReadAll(part)
			uid, study, _ := dicom.Names(content)
			stored[study] = append(stored[study], uid)
			assert.Contains(t, string(content), "Test^Tess")
		}
	}))
	t.Cleanup(archive.Close)
	has := func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		n := map[string]int{}
		for study, uids := range stored {
			n[study] = len(uids)
		}
		return n
	}
	s := serveWith(t, "-dicomweb", archive.URL+"/dicom-web")
	p := open(t, s, 1440, 900)
	p.ready()
	p.until(`document.getElementById("stays").textContent.endsWith("only when you send them to the archive.")`)
	p.drop("photograph.jpg", photo(t, 320, 240))
	p.until(sampleDone)
	assert.False(t, p.visible("archive"), "a photograph belongs to no study")
	p.do(`document.getElementById("close").click()`)
	p.until(`document.getElementById("model")?.disabled === false && document.getElementById("save").hidden`)

	p.drop("one.dcm", photographed(1))
	p.until(sampleDone + ` && !document.getElementById("archive").hidden`)
	p.says("archive-send", "tick above that files keep them")
	p.click("archive-send")
	p.still()
	assert.Empty(t, has())
	p.click("save-identity")
	p.says("archive-send", "")
	p.do(`document.getElementById("archive-send").focus()`)
	p.press("Enter", false)
	p.says("archive-send", "Stored in the archive")
	assert.Equal(t, map[string]int{"1.2.3.1": 2}, has(), "masks and figures")
	shots := os.Getenv("MRPRISM_SCREENSHOTS")
	if shots != "" {
		p.do(`document.getElementById("archive").scrollIntoView({ block: "center" })`)
		p.shot(filepath.Join(shots, "archive-1440.png"))
		p.run(chromedp.EmulateViewport(390, 844))
		p.do(`document.getElementById("archive").scrollIntoView({ block: "center" })`)
		p.shot(filepath.Join(shots, "archive-390.png"))
		p.run(chromedp.EmulateViewport(1440, 900))
	}
	p.click("archive-send")
	p.says("archive-send", "Waits for the archive")
	p.says("archive-send", "Stored in the archive")
	assert.Equal(t, map[string]int{"1.2.3.1": 2}, has(), "once")
	p.click("archive-capture")
	p.click("archive-report")
	p.click("archive-send")
	p.says("archive-send", "are being made")
	p.says("archive-send", "Waits for the archive")
	p.says("archive-send", "Stored in the archive")
	assert.Equal(t, map[string]int{"1.2.3.1": 4}, has(), "a picture and a report on their ticks")

	// A list. What a person has to look at stays here.
	folder, paths := t.TempDir(), []string{}
	for n := 2; n < 5; n++ {
		paths = append(paths, filepath.Join(folder, fmt.Sprintf("n%d.dcm", n)))
		require.NoError(t, os.WriteFile(paths[n-2], photographed(n), 0o644))
	}
	p.upload("file", paths...)
	p.until(`document.getElementById("work-meter").hidden && document.querySelectorAll("#work-lines .done").length === 3`)
	for _, key := range []string{"a", "a", "x"} {
		p.press(key, false)
		p.press("n", false)
	}
	p.until(`document.querySelectorAll("#work-lines .accepted").length === 2 && document.querySelectorAll("#work-lines .rejected").length === 1`)
	mu.Lock()
	refuse = true
	mu.Unlock()
	p.do(`document.getElementById("work-files").open = true`)
	p.says("archive-all", "tick above that files keep them")
	p.click("archive-identity")
	p.says("archive-all", "finished images are in the archive")
	p.click("archive-all")
	p.says("archive-all", "2 are refused")
	p.until(`document.querySelector("#work-lines .line .facts").innerText.includes("refused by the archive: 2 of 2 files are refused: the archive does not say why")`)
	mu.Lock()
	refuse = false
	mu.Unlock()
	p.click("archive-all")
	p.says("archive-all", "2 of 2 finished images are in the archive, 0 wait, 0 are refused.")
	assert.Equal(t, []bool{true, true, false}, get[[]bool](p, `[...document.querySelectorAll("#work-lines .line")].map((line) => line.innerText.includes("stored in the archive"))`))
	assert.Equal(t, map[string]int{"1.2.3.1": 4, "1.2.3.2": 2, "1.2.3.3": 2}, has())
	p.pick("n2.dcm") // what is ticked for the image on the stage goes with it, in a list too
	p.onStage("n2.dcm")
	p.click("save-identity")
	p.click("archive-send")
	require.Eventually(t, func() bool { return has()["1.2.3.2"] == 4 }, deadline, 10*time.Millisecond)
	p.says("archive-send", "Stored in the archive")
	assert.Equal(t, map[string]int{"1.2.3.1": 4, "1.2.3.2": 4, "1.2.3.3": 2}, has())
	if shots != "" {
		p.do(`document.getElementById("archive-list").scrollIntoView({ block: "center" })`)
		p.shot(filepath.Join(shots, "archive-list-1440.png"))
	}
	p.clean()
}

// What the page says of an archive has its German, also the reasons of serve.
func TestArchiveInGerman(t *testing.T) {
	t.Parallel()
	s := marked(t)
	s.wishes += "&archive"
	var why string
	Mount(s.inner, "/archive/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _, err := r.FormFile("file")
			assert.NoError(t, err)
			io.WriteString(w, `{"id": "1"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]map[string]string{"1": {"state": "refused", "why": why}})
	}))
	p := open(t, s, 1200, 800)
	p.ready()
	p.until(`document.getElementById("stays").textContent.includes("⟦")`)
	p.german("welcome")
	p.dropped("scan.dcm")
	p.until(`!document.getElementById("archive").hidden`)
	p.german("offered")
	p.click("save-identity")
	for _, why = range []string{
		"the archive answers 404 Not Found", "the archive takes no files this large", "3 of 7 files are refused: the archive takes no files of this kind (0122)",
		"3 of 7 files are refused: the archive cannot process it (0110)", "3 of 7 files are refused: the archive is full (A700)", "7 of 7 files are refused: the archive does not say why",
		"the archive refuses the token of serve", "serve cannot read its token", "serve does not trust the archive’s certificate", "the archive does not answer",
	} {
		p.click("archive-send")
		p.until(`document.getElementById("archive-send-says").textContent.includes("wartet")`)
		p.until(`document.getElementById("archive-send-says").textContent.includes("abgelehnt⟧: ")`)
		said := p.text("archive-send-says")
		assert.NotContains(t, regexp.MustCompile(`⟦[^⟧]*⟧`).ReplaceAllString(said, ""), "the", said)
	}
	p.german("refused")
}
