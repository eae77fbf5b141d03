package evaluate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Silently wrong results come first, then wrong results with a doubt, then right results, the
// farthest first.
func TestRankOfCentres(t *testing.T) {
	doubted := judgement{Found: true, Doubted: true}
	ordered := []*centreScore{
		{Name: "absent, but found", Distance: nil, judgement: judgement{Found: true}},
		{Name: "silently wrong, far", Present: true, Distance: new(3.), Area: new(1.)},
		{Name: "silently wrong, near", Present: true, Distance: new(.2), Area: new(9.)},
		{Name: "not found", Present: true, judgement: judgement{Doubted: true}},
		{Name: "wrong and doubted", Present: true, Distance: new(8.), Area: new(1.), judgement: doubted},
		{Name: "right, far", Present: true, Distance: new(.9), Area: new(1.), Right: true},
		{Name: "right and doubted, near", Present: true, Distance: new(.1), Area: new(1.), Right: true, judgement: doubted},
		{Name: "absent, not found", Right: true, judgement: judgement{Doubted: true}},
	}
	for i, c := range ordered[1:] {
		require.Negative(t, ordered[i].rank().Compare(c.rank()), "%s, %s", ordered[i].Name, c.Name)
	}
}
