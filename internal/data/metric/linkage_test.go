package metric

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The example of UPGMA in textbooks (16S ribosomal RNA of five bacteria), with its known heights.
func TestAverageLinkage(t *testing.T) {
	distances := [][]float64{{}, {17}, {21, 30}, {31, 34, 28}, {23, 21, 39, 43}}
	merges := AverageLinkage(distances)
	assert.Equal(t, []Merge{{0, 1, 17}, {4, 5, 22}, {2, 3, 28}, {6, 7, 33}}, merges)
}

// Unknown distances count in no mean, and clusters without a known pair stay apart.
func TestAverageLinkageOfUnknownPairs(t *testing.T) {
	nan := math.NaN()
	assert.Equal(t, []Merge{{0, 1, .1}, {2, 3, .4}}, AverageLinkage([][]float64{{}, {.1}, {nan, .4}}), "0 and 2 share no image")
	assert.Equal(t, []Merge{{0, 1, .2}}, AverageLinkage([][]float64{{}, {.2}, {nan, nan}}))
	assert.Empty(t, AverageLinkage([][]float64{{}}))
}
