package weights

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A certificate is that of all that a file says. Where anything else changes, the file opens
// without it.
func TestCertificates(t *testing.T) {
	open := func(f *File) Metadata {
		f.Seal()
		data, err := f.Encode()
		require.NoError(t, err)
		m, err := (&Manifest{}).Open("file", data)
		require.NoError(t, err)
		return m.Metadata
	}
	f, given := sampleFile(t), Certificate{Camera: "clinic", Date: "2026-11-29", Eyes: 12, Slope: .9, Reach: .1, Coverage: .9, Photographs: [][]float64{{1, 2}}}
	f.Certify(given)
	first := open(f).Certificate
	require.NotNil(t, first)
	assert.NotEmpty(t, first.Weights)
	given.Weights = first.Weights
	assert.Equal(t, given, *first)
	f.Certify(given)
	assert.Equal(t, first, open(f).Certificate, "a second one does not certify the first")

	f.Metadata["mirrored"] = "averaged"
	assert.Nil(t, open(f).Certificate, "other maps")
	f = sampleFile(t)
	f.Certify(given)
	f.Tensors[2].Data[0] ^= 1
	assert.Nil(t, open(f).Certificate, "other weights")
	m := open(f)
	require.NoError(t, f.Describe(&m))
	assert.NotContains(t, f.Metadata, certificateKey)

	f.Certify(Certificate{Slope: -1, Coverage: 2, Photographs: [][]float64{{1, 2}, {1}}})
	_, err := ParseMetadata(f.Metadata)
	assert.ErrorContains(t, err, "certificate: shift 0, slope -1")
	assert.ErrorContains(t, err, "reach 0, coverage 2")
	assert.ErrorContains(t, err, "figures of a photograph: [1]")
	assert.Equal(t, 1., (&Certificate{Shift: .8, Slope: 1}).At(.5))
}
