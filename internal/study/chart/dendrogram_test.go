package chart

import (
	"regexp"
	"strings"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
)

var leaf = regexp.MustCompile(`text-anchor="end">(\w+)<`)

// Leaves of one cluster stand together, also if the data has others between them.
func TestDendrogram(t *testing.T) {
	svg := written(t, Dendrogram{Title: "raters & more", Axis: "1 − Dice", Leaves: []string{"ann", "bob", "eve", "dan"},
		Merges: []metric.Merge{{A: 0, B: 2, Height: .1}, {A: 1, B: 3, Height: .2}, {A: 4, B: 5, Height: .4}}})
	var names []string
	for _, match := range leaf.FindAllStringSubmatch(svg, -1) {
		names = append(names, match[1])
	}
	assert.Equal(t, []string{"ann", "eve", "bob", "dan"}, names)
	assert.Equal(t, 3, strings.Count(svg, `stroke-width="1.8"`), "a bracket for each merge")
	assert.Contains(t, svg, "raters &amp; more")
}

// Raters who agree in every pixel, and raters whom nothing joins.
func TestDendrogramOfNothing(t *testing.T) {
	for _, merges := range [][]metric.Merge{nil, {{A: 0, B: 1}}} {
		svg := written(t, Dendrogram{Leaves: []string{"ann", "bob"}, Merges: merges})
		assert.NotContains(t, svg, "NaN")
		assert.Len(t, leaf.FindAllString(svg, -1), 2)
	}
}
