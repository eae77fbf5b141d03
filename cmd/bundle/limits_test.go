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

func TestCardsHaveLimits(t *testing.T) {
	text, err := limitsOf(filepath.Join("..", "..", "weights", "shipped"))
	require.NoError(t, err)
	assert.Contains(t, text, `"A small cup may be shown as a suspicious one: in the smallest quarter`)
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
