package site

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"image/jpeg"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/programtest"
)

// A JPEG is computed again by the program in the page, with the same masks. The page proves what the
// program wrote, and tells other results apart: one with a damaged file, and one of weights that it
// lacks. The browser keeps nothing of them. Without -short so is the sample by shipped weights.
func TestProve(t *testing.T) {
	t.Parallel()
	_, files := shippedModel(t, "fundus")
	files["w.safetensors"] = tinyWeights(t, "raters", nil)
	s := real(t, files)
	s.wishes = "?device=processor"
	p := open(t, s, 1200, 900)
	p.ready()
	p.saving()
	press := func(n int) { p.do(fmt.Sprintf(`document.querySelectorAll("#prove button")[%d].click()`, n)) }
	ended := func(text string) {
		t.Helper()
		p.until(`document.querySelector("#prove progress").hidden && document.getElementById("prove-says").textContent`)
		require.Contains(t, p.text("prove-says"), text)
	}
	if !testing.Short() {
		p.sample()
		p.until(`document.querySelector("#prove button")?.textContent`)
		press(0)
		ended("0 of 1\u202f769\u202f472 pixels differ.")
	}
	p.own("w.safetensors")
	var photo bytes.Buffer
	require.NoError(t, jpeg.Encode(&photo, synthetic.Photograph(3, 320, 240), nil))
	p.drop("eye.jpg", photo.Bytes())
	p.until(`document.getElementById("file-line").textContent.includes("eye.jpg") && document.querySelector("#prove button")?.textContent === "Prove" && ` + sampleDone)
	press(0)
	p.until(`!document.querySelector("#prove progress").hidden`)
	press(0)
	ended("Stopped.")
	press(0)
	ended("0 of 76\u202f800 pixels differ.")
	press(2)
	proof := p.savedAs("eye_proof.zip")

	folder := t.TempDir()
	inside, err := zip.NewReader(bytes.NewReader(proof), int64(len(proof)))
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(folder, inside))
	paths, err := filepath.Glob(filepath.Join(folder, "eye*"))
	require.NoError(t, err)
	saved := filepath.Join(t.TempDir(), "eye_proof.zip")
	require.NoError(t, os.WriteFile(saved, proof, 0o644))
	p.upload("prove-file", saved)
	ended("Equal: 10 files and ")

	image, mine := filepath.Join(t.TempDir(), "eye.jpg"), filepath.Join(t.TempDir(), "w.safetensors")
	require.NoError(t, os.WriteFile(image, photo.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(mine, files["w.safetensors"], 0o644))
	program := filepath.Join(programtest.Build(t, ".", "./cmd/segment"), "segment")
	out, err := exec.Command(program, "-verify", folder, "-weights", mine, image).CombinedOutput()
	require.NoError(t, err, "outside of the page too: %s", out)

	damaged, err := os.ReadFile(paths[1])
	require.NoError(t, err)
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(paths[1], damaged, 0o644))
	p.upload("prove-file", paths...)
	ended("Different: 1 of its 10 files are not what was written.")
	assert.Contains(t, p.text("prove"), filepath.Base(paths[1]))

	p.drop("notes_proof.zip", zipped(t, map[string][]byte{"notes.json": []byte("{}")}))
	ended("There is no result of segment.")

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "w.safetensors"), tinyWeights(t, "agreement-levels", nil), 0o644))
	out, err = exec.Command(program, "-weights", filepath.Join(other, "w.safetensors"), "-device", "processor", "-out", filepath.Join(other, "out"), image).CombinedOutput()
	require.NoError(t, err, string(out))
	paths, err = filepath.Glob(filepath.Join(other, "out", "eye*"))
	require.NoError(t, err)
	p.upload("prove-file", paths...)
	ended(`It cannot be proved: it is by weights "Random weights`)
	p.until(`navigator.storage.getDirectory().then((top) => top.getDirectoryHandle("learning")).then((folder) => folder.getDirectoryHandle("prove")).then(() => false, () => true)`)
	p.clean()
}

// What the program makes on AVX is equal to what the page's processor makes, for 20 drawn photographs
// (4 with -short) or those of MRPRISM_PHOTOGRAPHS=MODEL:DIR,...
func TestProvesTheProgram(t *testing.T) {
	t.Parallel()
	drawn, count := t.TempDir(), 20
	if testing.Short() {
		count = 4
	}
	for i := range count {
		var photo bytes.Buffer
		require.NoError(t, jpeg.Encode(&photo, synthetic.Photograph(uint64(i), 320, 240), nil))
		require.NoError(t, os.WriteFile(filepath.Join(drawn, fmt.Sprintf("%d.jpg", i)), photo.Bytes(), 0o644))
	}
	program := filepath.Join(programtest.Build(t, ".", "./cmd/segment"), "segment")
	s := serve(t, built(t, map[string][]byte{"sw.js": noKeeper}), nil)
	p := open(t, s, 900, 700)
	p.ready()
	for set := range strings.SplitSeq(cmp.Or(os.Getenv("MRPRISM_PHOTOGRAPHS"), "fundus:"+drawn), ",") {
		model, from, _ := strings.Cut(set, ":")
		photos, err := os.ReadDir(from)
		require.NoError(t, err)
		_, files := shippedModel(t, model)
		for some := range slices.Chunk(photos, 20) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "w.safetensors"), files[model+".safetensors"], 0o644))
			require.NoError(t, os.Mkdir(filepath.Join(folder, "in"), 0o755))
			for _, photo := range some {
				data, err := os.ReadFile(filepath.Join(from, photo.Name()))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(folder, "in", photo.Name()), data, 0o644))
			}
			out, err := exec.Command(program, "-weights", model, "-device", "processor", "-quiet", "-out", filepath.Join(folder, "result"), filepath.Join(folder, "in")).CombinedOutput()
			require.NoError(t, err, string(out))
			got := get[outcome](p, begin+"("+ordered(t, "prover", "/prove/", folder, []string{"-verify", "/prove/result", "-weights", "/prove/w.safetensors", "/prove/in"})+", 0)")
			require.Zero(t, got.Code, got.Notes+got.Error)
			assert.Equal(t, len(some), strings.Count(got.Notes, " are what Go float32 in SIMD128 relaxed "), got.Notes)
			t.Logf("%s: %d equal", model, len(some))
		}
	}
	p.clean()
}
