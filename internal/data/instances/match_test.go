package instances

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rows is a field of rows of digits, each the number of an object.
func rows(lines ...string) *Field {
	labels := make([]uint16, 0, len(lines)*len(lines[0]))
	for _, c := range strings.Join(lines, "") {
		labels = append(labels, uint16(max(c, '0')-'0'))
	}
	return FromLabels(len(lines[0]), len(lines), "cell", labels)
}

// random is a field of up to n rectangles over each other.
func random(rng *rand.Rand, side, n int) *Field {
	labels := make([]uint16, side*side)
	for number := range n {
		x, y, w, h := rng.IntN(side), rng.IntN(side), 1+rng.IntN(side/2), 1+rng.IntN(side/2)
		for i := range labels {
			if i%side >= x && i%side < x+w && i/side >= y && i/side < y+h {
				labels[i] = uint16(number + 1)
			}
		}
	}
	return FromLabels(side, side, "cell", labels)
}

// iou is that of two objects, by its definition.
func iou(a *Field, n uint16, b *Field, m uint16) float64 {
	both, any := 0, 0
	for i := range a.Labels {
		inA, inB := a.Labels[i] == n, b.Labels[i] == m
		if inA && inB {
			both++
		}
		if inA || inB {
			any++
		}
	}
	return float64(both) / float64(any)
}

// best is the largest sum of IoU of objects of a from i on, with objects of b that are not taken.
func best(a, b *Field, least float64, i int, taken map[uint16]bool) float64 {
	if i == len(a.Objects) {
		return 0
	}
	most := best(a, b, least, i+1, taken)
	for _, o := range b.Objects {
		if v := iou(a, a.Objects[i].Number, b, o.Number); v >= least && v > 0 && !taken[o.Number] {
			taken[o.Number] = true
			most = max(most, v+best(a, b, least, i+1, taken))
			delete(taken, o.Number)
		}
	}
	return most
}

func TestMatchIsTheBestOfAll(t *testing.T) {
	rng, several := rand.New(rand.NewPCG(1, 2)), 0
	for range 400 {
		a, b := random(rng, 10, 6), random(rng, 10, 6)
		for _, least := range []float64{0, .1, .3, .5} {
			usedA, usedB, sum, before := map[uint16]bool{}, map[uint16]bool{}, 0., uint16(0)
			for _, p := range Match(a, b, least) {
				require.InDelta(t, iou(a, p.A, b, p.B), p.IoU, 1e-12)
				require.True(t, p.IoU >= least && p.A > before && !usedA[p.A] && !usedB[p.B])
				usedA[p.A], usedB[p.B], before = true, true, p.A
				sum += p.IoU
			}
			require.InDelta(t, best(a, b, least, 0, map[uint16]bool{}), sum, 1e-9)
			if len(usedA) > 2 {
				several++
			}
		}
	}
	assert.Greater(t, several, 500)
	assert.Panics(t, func() { Match(New(2, 3, ""), New(3, 2, ""), .5) })
}

// A large overlap that is not taken leaves two that are larger together.
func TestMatchLeavesTheLargestOverlap(t *testing.T) {
	a, b := rows("111111111222"), rows("111222222222")
	assert.InDelta(t, .5, iou(a, 1, b, 2), 1e-12)
	assert.Equal(t, []Pair{{1, 1, 1. / 3}, {2, 2, 1. / 3}}, Match(a, b, 0))
}

func TestCompare(t *testing.T) {
	//               IoU 1    2/3      1/3       none
	truth := rows("11110" + "2220" + "30000" + "4400")
	found := rows("11110" + "2200" + "33300" + "0011")
	found.Labels[16], found.Labels[17] = 5, 5
	found = FromLabels(found.Width, 1, "cell", found.Labels)
	s := Compare(truth, found, .5)
	assert.Equal(t, 2, s.Matched)
	assert.InDelta(t, 2./4, s.Precision, 1e-12)
	assert.InDelta(t, 2./4, s.Recall, 1e-12)
	assert.InDelta(t, .5, s.F1, 1e-12)
	assert.InDelta(t, (1+2./3)/2, s.SQ, 1e-12)
	assert.InDelta(t, (1+2./3)/4, s.PQ, 1e-12)
	assert.InDelta(t, (1+4./5)/2, s.Dice, 1e-12)
	s = Compare(truth, found, .75)
	assert.Equal(t, Score{1, .25, .25, .25, 1, .25, 1}, s)
	s = Compare(truth, New(18, 1, "cell"), .5)
	assert.True(t, math.IsNaN(s.Precision) && math.IsNaN(s.SQ) && math.IsNaN(s.Dice))
	assert.Zero(t, s.Recall+s.F1+s.PQ)
	assert.True(t, math.IsNaN(Compare(New(3, 3, ""), New(3, 3, ""), .5).PQ))
}

// The scores are those of a program that was written apart, with SciPy's assignment.
func TestAgainstSciPy(t *testing.T) {
	const python = "/usr/bin/python3" // Debian's
	if exec.Command(python, "-c", "import scipy").Run() != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "make setup installs python3-scipy")
		t.Skip("python3-scipy is missing: make setup")
	}
	type field struct {
		A, B  []uint16
		Least float64
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var all []field
	var got [][]float64
	for i := range 200 {
		a, b := random(rng, 24, 20), random(rng, 24, 20)
		if i%4 == 0 { // the same, but for some pixels and numbers
			b = FromLabels(24, 24, "cell", a.Labels)
			for range 60 {
				b.Labels[rng.IntN(len(b.Labels))] = uint16(rng.IntN(21))
			}
			b = FromLabels(24, 24, "cell", b.Labels)
		}
		least := []float64{.1, .25, .5, .75}[rng.IntN(4)]
		s := Compare(a, b, least)
		one := []float64{float64(s.Matched), s.Precision, s.Recall, s.F1, s.SQ, s.PQ, s.Dice}
		for k, v := range one {
			if math.IsNaN(v) {
				one[k] = -1
			}
		}
		all, got = append(all, field{a.Labels, b.Labels, least}), append(got, one)
	}
	text, err := json.Marshal(all)
	require.NoError(t, err)
	c := exec.Command(python, "testdata/match.py")
	c.Stdin = strings.NewReader(string(text))
	out, err := c.Output()
	require.NoError(t, err)
	var want [][]float64
	require.NoError(t, json.Unmarshal(out, &want))
	require.Len(t, want, len(got))
	for i := range want {
		assert.InDeltaSlice(t, want[i], got[i], 1e-9, "%d", i)
	}
}

// A thousand objects that each overlap some of a thousand take less than a second.
func TestMatchOfAThousand(t *testing.T) {
	const side = 512
	a, b := make([]uint16, side*side), make([]uint16, side*side)
	for i := range a {
		x, y := i%side, i/side
		a[i], b[i] = uint16(1+y/16*32+x/16), uint16(1+(y+7)/16*33+(x+9)/16)
	}
	fa, fb := FromLabels(side, side, "cell", a), FromLabels(side, side, "cell", b)
	require.Len(t, fa.Objects, 1024)
	begun := time.Now()
	pairs := Match(fa, fb, 0)
	took := time.Since(begun)
	t.Logf("%d pairs of %d and %d objects, all in one piece, in %v", len(pairs), len(fa.Objects), len(fb.Objects), took)
	assert.GreaterOrEqual(t, len(pairs), 1000)
	assert.Less(t, took, 2*time.Second)
}

func TestConsensus(t *testing.T) {
	people := []*Field{
		rows("1111100", "0000000", "0022220", "0000003"),
		rows("0444400", "0000000", "0022000", "0000000"),
		rows("0111000", "0000000", "0000066", "0000005"),
	}
	f, groups, err := Consensus(people, .5)
	require.NoError(t, err)
	assert.Equal(t, []*Group{
		{1, []uint16{1, 4, 1}},
		{2, []uint16{2, 2, 0}},
		{3, []uint16{3, 0, 5}},
		{4, []uint16{0, 0, 6}},
	}, groups)
	assert.Equal(t, 3, groups[0].Finders())
	assert.Equal(t, rows("0111100", "0000000", "0022044", "0000003").Labels, f.Labels)
	assert.Len(t, f.Objects, 4)
	assert.InDelta(t, 2*(1*2/6.+2*1/6.), f.Objects[0].Disagreement, 1e-12, "two pixels about which one differs from two")
	assert.InDelta(t, 2, f.Objects[1].Disagreement, 1e-12)
	assert.Zero(t, f.Objects[2].Disagreement)
}

// A chain of matches would join two objects of the first person: the larger overlap stays.
func TestAGroupHasOneObjectOfAPerson(t *testing.T) {
	people := []*Field{
		rows("1111111111" + "2222222222"),
		rows("1111111110" + "0000000000"),
		rows("0000011111" + "1110000000"),
	}
	_, groups, err := Consensus(people, .2)
	require.NoError(t, err)
	assert.Equal(t, []uint16{1, 1, 1}, groups[0].Of)
	assert.Equal(t, []uint16{2, 0, 0}, groups[1].Of)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		people := []*Field{random(rng, 12, 6), random(rng, 12, 6), random(rng, 12, 6), random(rng, 12, 6)}
		f, groups, err := Consensus(people, .3)
		require.NoError(t, err)
		found, numbers := 0, map[uint16]bool{}
		for _, g := range groups {
			found += g.Finders()
			numbers[g.Number] = true
		}
		sum := 0
		for _, p := range people {
			sum += len(p.Objects)
		}
		require.Equal(t, sum, found, "each object is in one group")
		for _, o := range f.Objects {
			require.True(t, numbers[o.Number])
		}
	}
	f, groups, err := Consensus([]*Field{New(4, 4, "cell")}, .5)
	require.NoError(t, err)
	assert.Empty(t, groups)
	assert.Empty(t, f.Objects)
}
