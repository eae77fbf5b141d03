package shaders

import (
	"slices"
	"testing"

	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"

	"github.com/stretchr/testify/assert"
)

// Maps between the inputs and the first operator that needs F32 are stored as halves; parameters
// are rounded once.
func TestStoreHalves(t *testing.T) {
	g := newRewriteGraph(t)
	x, w := g.in(1, 4, 4, 8), g.param("w", 8, 8)
	y := pointwise.ReLU(conv.Linear(x, w, g.param("b", 8)))
	z := conv.Linear(pointwise.AddBroadcast(y, conv.Linear(g.table(1, 4, 4, 8), w, nil)), w, nil)
	loss := pointwise.Sum(pointwise.Sigmoid(z))
	StoreHalves(g.Graph)
	var kinds []string
	for _, op := range g.Ops() {
		kinds = append(kinds, op.Kind.Name)
	}
	halves := func(kinds []string) int {
		return len(slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k != "Halve" }))
	}
	assert.Equal(t, 4, halves(kinds), "x, w, b and the table: %v", kinds)
	assert.Contains(t, kinds, "Widen")
	assert.Equal(t, []string{"f16", "f16", "f32"}, []string{y.Type().String(), z.Type().String(), loss.Type().String()})
}
