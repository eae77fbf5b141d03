package main

import (
	"math"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// The CSV alone decides. A mask of the whole image is right for a circle of that size, in every
// turn, and wrong for circles elsewhere or absent structures.
func TestCentres(t *testing.T) {
	text := "name,cx,cy,r\nlarge,.7,.5,.4\nelsewhere,.1,.1,.4\nabsent,,,\nsmall,.5,.5,.1\n"
	names := []string{"large.png", "elsewhere.png", "absent.jpg", "small.png"}
	one, two := studytest.CentresFile(t, text, names...), studytest.CentresFile(t, "name,cx,cy,r\nlarge,.5,.5,.5\n", "large.png")
	got, table := Scores(t, "-weights", studytest.Biased(t, segmenttest.Fundus(), 30), "-centres", one+","+two, "-turned")
	r := got.Centres
	require.Equal(t, "disc", r.Anchor)
	require.Len(t, r.Pictures, 4*5)
	require.Len(t, r.Sets, 8)
	require.Len(t, r.Together, 4)
	for i, row := range r.Together {
		require.Equal(t, []int{90 * i, 5, 2}, []int{row.Turned, row.Images, row.Right.Images})
		require.Equal(t, []int{4, 1}, []int{r.Sets[i].Images, r.Sets[i].Right.Images}, "%s", r.Sets[i].Set)
		require.InDelta(t, .25, r.Sets[i].Right.Share, 1e-12)
		require.Equal(t, row.Images, row.Right.Images+row.WrongDoubted.Images+row.Silent.Images)
	}
	for _, c := range r.Pictures {
		require.Equal(t, c.Name == "large", c.Right, "%s of %s turned by %d", c.Name, c.Set, c.Turned)
		require.Equal(t, len(c.Doubts) > 0, c.Doubted)
		require.Equal(t, c.Name != "absent", c.Present)
		line := "\n" + c.Label(c.Name+" of "+c.Set) + " "
		require.Equal(t, !c.Right && !c.Doubted, strings.Contains(table, line), line)
	}
	require.InDelta(t, 8./16, *r.Pictures[0].Distance, 1e-9, ".2 of 40 pixels from the middle, with a radius of 16")
	require.InDelta(t, 1200/(math.Pi*256), *r.Pictures[0].Area, 1e-9)
	require.Contains(t, table, "together, turned by 270° ")
	require.Empty(t, got.Data)
	require.Nil(t, got.Doubts)
	require.Positive(t, got.Odd.Odd)
	require.Equal(t, 5*4, got.Odd.Odd+got.Odd.Others)
	require.NotContains(t, table, "region none", "there is no data")

	got, table = Scores(t, "-weights", studytest.Biased(t, segmenttest.Fundus(), -30), "-centres", one)
	require.Len(t, got.Centres.Pictures, 4)
	for _, c := range got.Centres.Pictures {
		require.False(t, c.Found)
		require.Equal(t, c.Name == "absent", c.Right)
		require.Nil(t, c.Distance)
	}
	row := got.Centres.Together[0]
	require.Equal(t, []int{1, 1, 3, 0}, []int{row.Right.Images, row.RightDoubted.Images, row.WrongDoubted.Images, row.Silent.Images})
	require.NotContains(t, table, "together")
	require.InDelta(t, .5, *got.Odd.AUROC, 1e-12, "what finds nothing is all equally odd")
	require.Regexp(t, `doubt score +0.500 +3 +1`, table)
}
