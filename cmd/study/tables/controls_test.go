//go:build !js

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
)

// eroded is a mask (H, W) without the pixels that have a neighbour outside of it: above, below,
// left or right.
func eroded(mask []uint8, w int) []uint8 {
	out := make([]uint8, len(mask))
	for i, v := range mask {
		if x := i % w; v > 0 && x > 0 && x < w-1 && i >= w && i < len(mask)-w && min(mask[i-1], mask[i+1], mask[i-w], mask[i+w]) > 0 {
			out[i] = 1
		}
	}
	return out
}

// A control of fused labels: a crowd draws around a cell, and its majority eroded by one or two
// pixels is nearer to the expert already, without a look at the image. README.md has the gains.
func TestErodedMajority(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "shared", "data", "bubil-crowd")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no data: ", err)
	}
	set, err := dataset.Open(folder)
	require.NoError(t, err)
	gains := make([][]float64, 3)
	for _, c := range set.Cases {
		l, err := dataset.Load(c)
		require.NoError(t, err)
		truth, err := c.Truth(set.Classes[0])
		require.NoError(t, err)
		votes, ok := l.Votes(0)
		require.True(t, ok)
		mask := votes.Majority()
		var first float64
		for pixels := range gains {
			p := make([]float32, len(mask))
			for i, v := range mask {
				p[i] = float32(v)
			}
			dice := metric.SoftDice(p, metric.Count(truth))
			if pixels == 0 {
				first = dice
			}
			gains[pixels], mask = append(gains[pixels], dice-first), eroded(mask, l.W)
		}
	}
	text := func(values []float64) string {
		e := metric.Bootstrap(values, 2000, 1)
		return difference{metrics.Estimate{Interval: e}, 100, 1}.String()
	}
	newPage(t).says("eroded by 1 or 2 pixels gains %s or %s on `bubil-crowd`", text(gains[1]), text(gains[2]))
}
