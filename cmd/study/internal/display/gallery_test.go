package display

import (
	"strconv"
	"testing"

	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"

	"github.com/stretchr/testify/require"
)

// A gallery keeps the images of the greatest ranks, however many are offered, and draws no others.
// Groups come first; of equal ranks the earlier image stays.
func TestGallery(t *testing.T) {
	g, drawn := Gallery{Most: 3}, 0
	offer := func(name string, r Rank) {
		require.NoError(t, g.Offer(r, func() (report.Exhibit, error) { drawn++; return report.Exhibit{Name: name}, nil }))
	}
	names := func() []string {
		return statistics.Tabulate(len(g.Exhibits), func(i int) string { return g.Exhibits[i].Name })
	}
	for i := range 50 {
		offer(strconv.Itoa(i*17%50), Rank{Figure: float64(i * 17 % 50)})
	}
	require.Equal(t, []string{"49", "48", "47"}, names())
	require.Less(t, drawn, 30, "images that do not stay are not drawn")
	offer("equal", Rank{Figure: 48})
	offer("group", Rank{Group: 1})
	require.Equal(t, []string{"group", "49", "48"}, names())
}
