package weights

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cards as data are those of the Markdown that ships, and say what a card must.
func TestCardsAreCurrent(t *testing.T) {
	for _, e := range Shipped().Models {
		d, err := ReadDescribed(filepath.Join("shipped", e.File))
		require.NoError(t, err)
		c := d.Card
		var b bytes.Buffer
		require.NoError(t, c.Write(&b))
		stored, err := os.ReadFile(filepath.Join("shipped", e.Name+CardEnding))
		require.NoError(t, err)
		assert.Equal(t, string(stored), b.String(), "run: go generate ./weights")
		for _, field := range []string{"modelDetails", "intendedUse", "factors", "evaluationData", "trainingData", "quantitativeAnalyses", "ethicalConsiderations", "caveatsAndRecommendations"} {
			assert.NotEmpty(t, c.ModelCard[field], "%s: %s", e.Name, field)
		}
		for _, field := range []string{"data", "referenceStandard", "dataPartitions", "model", "training", "modelPerformance", "limitations"} {
			assert.NotEmpty(t, c.CLAIM[field], "%s: %s", e.Name, field)
		}
	}
}

func TestNewCard(t *testing.T) {
	m := &Model{Metadata: Metadata{Name: "hearts", Classes: []string{"heart"}, Raters: []string{"ann", "bob"}, Labels: LabelsRaters, Seed: 7}}
	const text = "# Hearts\n\nFor research\nalone.\n\n| | |\n|---|---|\n| by | me \\| you |\n| slides | 9 |\n| held out | 2 |\n| terms | free |\n\n## How good\n\nDice.\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\n## Limits\n\n- One\n  laboratory.\n- Few.\n"
	c, err := NewCard(text, m)
	require.NoError(t, err)
	assert.Equal(t, []string{"For research alone."}, c.ModelCard["intendedUse"])
	assert.Equal(t, []string{"slides: 9"}, c.ModelCard["trainingData"])
	assert.Equal(t, []string{"by: me | you", "seed: 7"}, c.CLAIM["training"])
	assert.Equal(t, []string{"structures: heart; raters: ann, bob"}, c.CLAIM["referenceStandard"])
	assert.Equal(t, []string{"How good: Dice."}, c.ModelCard["metrics"])
	assert.Equal(t, []string{"How good"}, c.CLAIM["modelPerformance"])
	assert.Equal(t, []string{"One laboratory.", "Few."}, c.CLAIM["limitations"])
	assert.Nil(t, c.CLAIM["studyDesign"])
	assert.Equal(t, [][][]string{{{"a", "b"}, {"1", "2"}}}, c.Sections[1].Tables)
	assert.Equal(t, []string{"held out: 2"}, c.ModelCard["evaluationData"])
	for part, what := range map[string]string{
		"# Hearts": `"# TITLE"`, "For research\nalone.": "a paragraph", "| slides | 9 |\n": `"| data`, "| held out | 2 |\n": `"| held out`,
		"| terms | free |\n": `"| terms`, "## How good": `"## Scores"`, "- One\n  laboratory.\n- Few.": `"## Limits" with`,
	} {
		_, err = NewCard(strings.Replace(strings.ReplaceAll(text, "| by | me \\| you |\n", ""), part, "", 1), m)
		assert.ErrorContains(t, err, "the card lacks ")
		assert.ErrorContains(t, err, what)
		assert.NotContains(t, err.Error(), ";", "nothing else")
	}
}

func TestLimitsAreFirstSentencesAndBoldOnes(t *testing.T) {
	c := Card{Sections: sections("# A\n\n## Limits\n\n- It fails in [myopia](x.md): of 76 (et al. 2014)\n  four. The model doubts `three`.\n- Small cups: 0.64. **They may be\n  shown as large.** More.\n\n## Else\n\n- no\n")}
	assert.Equal(t, []string{"It fails in myopia: of 76 (et al. 2014) four.", "Small cups: 0.64. They may be shown as large."}, c.Limits())
}

// What a server offers is listed with its sum, its card, which may be a draft, and limits.
func TestOffer(t *testing.T) {
	folder := t.TempDir()
	path, data := filepath.Join(folder, "mine.safetensors"), sampleBytes(t)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	offered := func() (e Entry, card string) {
		files, err := Offer([]string{path}, false)
		require.NoError(t, err)
		var list Manifest
		require.NoError(t, json.Unmarshal(files[Served], &list))
		require.Len(t, list.Models, 1)
		e = list.Models[0]
		require.NoError(t, e.Verify(files[e.File]))
		return e, string(files[e.Card])
	}
	e, card := offered()
	m, err := (&Manifest{Models: []Entry{e}}).OpenShipped(e.Name, data)
	require.NoError(t, err)
	assert.Equal(t, []any{e.Name, e.Title, false, true}, []any{m.Name(), m.Label(), m.Shipped, m.Served})
	assert.Contains(t, e.Title, "weights of this server")
	assert.Contains(t, card, "| data | ")
	assert.Equal(t, []string{"Nobody wrote this model's card: it says what the file of the weights does."}, e.Limits)

	beside := filepath.Join(folder, m.Metadata.Name+".md")
	draft := m.Metadata.Draft([][2]string{{"held out", "2 | 3"}}, "## Scores\n\nGood.\n", "Few.", "Old. And more.")
	require.NoError(t, os.WriteFile(beside, []byte(draft), 0o644))
	e, card = offered()
	assert.Equal(t, draft, card)
	assert.Equal(t, []string{"Few.", "Old."}, e.Limits)
	_, err = Offer([]string{path, path}, false)
	assert.ErrorContains(t, err, "mine.safetensors is fundus, which is there already")
	_, err = Offer([]string{filepath.Join("shipped", "cells.safetensors")}, false)
	assert.ErrorContains(t, err, "cells, which is there already")
	require.NoError(t, os.WriteFile(beside, []byte("# Mine\n"), 0o644))
	_, err = Offer([]string{path}, false)
	assert.ErrorContains(t, err, beside+": the card lacks ")
	require.NoError(t, os.WriteFile(path, data[:len(data)-9], 0o644))
	_, err = Offer([]string{path}, false)
	assert.ErrorContains(t, err, path)
	none, err := Offer(nil, true)
	require.NoError(t, err)
	assert.JSONEq(t, `{"models": [], "archive": true}`, string(none[Served]))
}
