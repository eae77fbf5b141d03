//go:build !js

package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/command"
	"mrprism/internal/gpu"
	"mrprism/internal/gpu/gputest"
	"mrprism/internal/tensor"
	"mrprism/internal/tune"
	"mrprism/shaders"
)

// A part of one convolution, whose result is read: a network has dozens of shapes, which take minutes.
func TestTunePart(t *testing.T) {
	d := gputest.Require(t, "dawn")
	var opened []int // choices that a workload was compiled with
	open := func(d gpu.Device) (*workload, error) {
		opened = append(opened, len(d.Info().Tuned))
		g := tensor.NewGraph()
		x, w := g.Input("x", 1, 8, 8, 16), g.Input("w", 3, 3, 16, 16)
		y := shaders.Conv2D(x, w, nil, shaders.Square(1, 1)).Keep()
		plan, err := tensor.Compile(t.Context(), d, tensor.NewSet(), g)
		if err != nil {
			return nil, err
		}
		run := func(ctx context.Context) error {
			err := plan.Run(ctx)
			if err == nil {
				_, err = plan.Read(ctx, y)
			}
			return err
		}
		return &workload{[]*tensor.Plan{plan}, run, plan.Release}, nil
	}
	part, choices, err := tunePart(t.Context(), d, "a convolution", open, 3, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, opened)
	require.Len(t, choices, 1)
	assert.Equal(t, 1, part.Measured)
	assert.Equal(t, 3, part.Ratio.N)
	assert.Positive(t, part.Ratio.Least)
	assert.Equal(t, part.Kept, part.After.Median <= part.Before.Median)
	if !part.Kept {
		for _, variant := range choices {
			assert.Equal(t, "registers", variant, "what lavapipe takes untuned")
		}
	}
}

func TestGainsAndTable(t *testing.T) {
	result := func(key string, dispatches, chosen int, ms ...float64) tune.Result {
		program := &gpu.Program{Name: "conv2d_forward/registers"}
		return tune.Result{
			Alternatives: tensor.Alternatives{Key: key, Dispatches: dispatches, Variants: []tensor.Alternative{
				{Variant: "registers", Program: program}, {Variant: "tiles", Program: program}, {Program: program}}},
			MS: ms, Chosen: chosen,
		}
	}
	changed := gains([]tune.Result{result("a 01 &{}", 1, 1, 4, 3, 5), result("b 02 &{}", 9, 0, 1, 2, 0), result("c 03 &{}", 4, 2, 2, 0, 1)})
	require.Equal(t, []tuningGain{{"c", "", "registers", "plain", 4, 2, 1}, {"a", "", "registers", "tiles", 1, 4, 3}}, changed)

	r := tuningReport{Device: "llvmpipe", Options: options{Config: "tiny"}, File: "tuned.json", Parts: []tuningPart{
		{Part: "inference", Measured: 3, Changed: changed, Before: one(12), After: one(6), Ratio: one(0.5), Kept: true},
		{Part: "training step", Measured: 3, Before: one(4), After: one(5), Ratio: one(1.25)},
	}}
	var out bytes.Buffer
	require.NoError(t, r.table(&out))
	for _, line := range []string{
		"inference: 3 kernels with shapes have several variants; for 2 another is faster", "c : registers → plain",
		"inference: 12 ms before, 6 ms now, ratio 0.500", "remembered in tuned.json",
		"training step: 4 ms before, 5 ms now, ratio 1.25 (1.25 to 1.25 of 1 in turn)\nas a whole that is no gain: nothing changes",
	} {
		assert.Contains(t, out.String(), line)
	}
}

func TestTuneNeedsAGPU(t *testing.T) {
	code, _, stderr := call(t, "-tune", "-device", "reference")
	assert.Equal(t, command.Failed, code)
	assert.Contains(t, stderr, "nothing to tune")
	for _, with := range []string{"-browser", "-kernels", "-untuned"} {
		code, _, stderr = call(t, "-tune", with)
		assert.Equal(t, command.Usage, code, with)
		assert.Contains(t, stderr, "-tune stands alone", with)
	}
}
