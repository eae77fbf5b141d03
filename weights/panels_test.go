package weights

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// panelled is a file of three panels.
func panelled(t *testing.T, bias float32, shift float64) *File {
	about := sampleMetadata()
	about.Panels, about.Trust = nil, nil
	for i, name := range []string{"drishti", "papila", "rimone"} {
		one := Panel{Name: name, Weight: 1. / 3}
		for k := range about.Classes {
			one.Shift = append(one.Shift, shift*float64(i-1)*float64(k+1))
		}
		about.Panels = append(about.Panels, one)
	}
	metadata, err := about.Map()
	require.NoError(t, err)
	values := make([]float32, len(about.Classes))
	for k := range values {
		values[k] = bias
	}
	return &File{Metadata: metadata, Tensors: []Tensor{NewF32("bias", []int{len(values)}, values)}}
}

// Other weights move the bias, and the panels' masks stay: bias and shift add up to the same.
func TestWeighPanels(t *testing.T) {
	f := panelled(t, .5, 1)
	masks := func() (all []float64) {
		m, err := ParseMetadata(f.Metadata)
		require.NoError(t, err)
		bias, err := f.Tensor("bias").Float32()
		require.NoError(t, err)
		for _, p := range m.Panels {
			for k, v := range p.Shift {
				all = append(all, v+float64(bias[k]))
			}
		}
		return all
	}
	before := masks()
	require.NoError(t, f.WeighPanels("bias", map[string]float64{"drishti": 3, "rimone": 1}))
	assert.InDeltaSlice(t, before, masks(), 1e-6)
	m, err := ParseMetadata(f.Metadata)
	require.NoError(t, err)
	assert.Equal(t, []float64{.75, 0, .25}, []float64{m.Panels[0].Weight, m.Panels[1].Weight, m.Panels[2].Weight})
	bias, err := f.Tensor("bias").Float32()
	require.NoError(t, err)
	assert.Equal(t, float32(.5-.5), bias[0])
	require.NoError(t, f.WeighPanels("bias", map[string]float64{"drishti": 1, "papila": 1, "rimone": 1}))
	bias, err = f.Tensor("bias").Float32()
	require.NoError(t, err)
	assert.InDelta(t, .5, bias[0], 1e-6)

	assert.ErrorContains(t, f.WeighPanels("bias", map[string]float64{"refuge": 1}), "drishti, papila, rimone")
	assert.ErrorContains(t, f.WeighPanels("bias", map[string]float64{"papila": -1}), "papila=-1")
	assert.ErrorContains(t, f.WeighPanels("bias", nil), "are 0")
	f.Metadata["panels"] = `[{"name":"drishti","shift":[0,0],"weight":0.4}]`
	_, err = ParseMetadata(f.Metadata)
	assert.ErrorContains(t, err, "the panels' weights add up to 0.4")
}

// The mean of runs has the mean of their shifts.
func TestMeanOfPanels(t *testing.T) {
	one, other := panelled(t, 1, 1), panelled(t, 2, 3)
	mean, err := Mean([]string{"a", "b"}, []*File{one, other})
	require.NoError(t, err)
	m, err := ParseMetadata(mean.Metadata)
	require.NoError(t, err)
	assert.InDelta(t, -2, m.Panels[0].Shift[0], 1e-9)
	require.NoError(t, other.WeighPanels("bias", map[string]float64{"papila": 1}))
	_, err = Mean([]string{"a", "b"}, []*File{one, other})
	assert.ErrorContains(t, err, "other panels")
}
