package site

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/segment"
	"mrprism/weights"
)

// A model that the server offers beside those that ship is in the list, with its card. It segments
// a photograph as the program segment does, and a report has its limits. Damaged, it is refused.
func TestModelOfTheServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path, data, photograph := filepath.Join(folder, "mine.safetensors"), tinyWeights(t, weights.LabelsRaters, nil), photo(t, 160, 120)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	m, err := weights.Shipped().Open(path, data)
	require.NoError(t, err)
	card := m.Metadata.Draft([][2]string{{"held out", "2 of 9"}}, "## Scores\n\nGood.\n", "It knows one camera. Others may differ.")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "test.md"), []byte(card), 0o644))
	files, err := weights.Offer([]string{path}, false)
	require.NoError(t, err)
	files["small.png"] = photograph
	name := m.Name()
	served := func() *page {
		s := real(t, files)
		s.wishes = "?device=processor"
		p := open(t, s, 1200, 800)
		p.ready()
		p.choose(name)
		return p
	}
	p := served()
	p.until(`document.querySelector("#model-note a")`)
	assert.Equal(t, "Random weights (weights of this server, "+m.SHA256[:12]+")", get[string](p, `document.getElementById("model").selectedOptions[0].text`))
	assert.Equal(t, card, get[string](p, `fetch(document.querySelector("#model-note a").href).then((card) => card.text())`))
	p.drop("small.png", photograph)
	p.until(sampleDone)
	assert.Contains(t, p.printed("served", 8.27, 11.69), "It knows one camera. From the model's card, weights/"+name+".md")
	p.do(`(async () => { globalThis.r = await mrprism.segment(await (await fetch("weights/small.png")).blob(), { roi: "none", model: "` + name + `" }); })()`)
	p.compare("r.probability(0)", natively(t, data, photograph, segment.Options{ROI: "none", Recurrences: segment.Trained}).Probability(0))
	p.clean()

	damaged := slices.Clone(data)
	damaged[len(damaged)-1] ^= 1
	files[name+".safetensors"] = damaged
	p = served()
	p.until(`document.getElementById("banner").innerText.includes("The model was refused: ") && document.getElementById("banner").innerText.includes("damaged")`)
}
