package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLimitsAreFirstSentencesAndBoldOnes(t *testing.T) {
	card := "# A\n\n## Limits\n\n- It fails in [myopia](x.md): of 76 (et al. 2014)\n  four. The model doubts `three`.\n- Small cups: 0.64. **They may be\n  shown as large.** More.\n\n## Else\n\n- no\n"
	assert.Equal(t, []string{"It fails in myopia: of 76 (et al. 2014) four.", "Small cups: 0.64. They may be shown as large."}, limits(card))
	assert.Empty(t, limits("# A\n\n## Else\n\n- no\n"))
}

func TestCardsHaveLimits(t *testing.T) {
	text, err := limitsOf(filepath.Join("..", "..", "weights", "shipped"))
	require.NoError(t, err)
	assert.Contains(t, text, `"Small cups are guessed too large`)
	assert.Contains(t, text, "A small cup may be shown as a suspicious one.")
	assert.Less(t, len(text), 3000)
	german, err := os.ReadFile(filepath.Join("..", "..", "site", "words", "de.json"))
	require.NoError(t, err)
	var all map[string][]string
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	for name, list := range all {
		for _, limit := range list {
			assert.Contains(t, string(german), "  \""+limit+"\":", "the limits of %s in German", name)
		}
	}
	assert.NotContains(t, strings.ReplaceAll(text, "\\u003c", ""), "**")
}
