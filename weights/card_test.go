package weights

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cards as data are those of the Markdown that ships, and say what a card must.
func TestCardsAreCurrent(t *testing.T) {
	for _, e := range Shipped().Models {
		c, err := ReadCard("shipped", &e)
		require.NoError(t, err)
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
	const text = "# Hearts\n\nFor research\nalone.\n\n| | |\n|---|---|\n| by | me \\| you |\n| slides | 9 |\n\n## How good\n\nDice.\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\n## Limits\n\n- One\n  laboratory.\n- Few.\n"
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
	_, err = NewCard("# Hearts\n", m)
	assert.ErrorContains(t, err, "a table of facts")
}
