package imageio

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reports are files that a report of an error in another program was about, whose pixels are known.
var reports = []string{
	"bmp_32_v4_rgb_alpha0.bmp", "bmp_os2.bmp",
	"dcm_padding.dcm", "dcm_pal_segmented.dcm", "dcm_voi_sigmoid.dcm", "dcm_ww_half.dcm",
	"nii_gz_trailzero.nii.gz", "tif_sbc0.tif", "tif_thumb_first.tif", "tif_wiz12in16.tif",
	"webp_lossy.webp",
}

func TestReports(t *testing.T) {
	root := vectors(t, "reports")
	for _, name := range reports {
		content, err := os.ReadFile(filepath.Join(root, "expected", name+".png"))
		require.NoError(t, err)
		want, err := png.Decode(bytes.NewReader(content))
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		m, err := Decode(name, data)
		if assert.NoError(t, err) {
			assert.True(t, bytes.Equal(Convert(want).Pix, m.Pix), name)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, "tif_imagej_trunc.tif"))
	require.NoError(t, err)
	m, err := DecodeSlice("tif_imagej_trunc.tif", data, 5)
	require.NoError(t, err)
	assert.Equal(t, 5, m.Slices)
	// One volume has an outlier, the other one a cal_max that nearly all voxels of the brain
	// exceed.
	var brains [2][]uint8
	for i, name := range []string{"brain_nii_outlier.nii", "brain_nii_calbogus.nii"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		brains[i] = greyOf(t, name, data)
	}
	assert.LessOrEqual(t, farthest(brains[0], brains[1]), 2)
	assert.Greater(t, slices.Max(brains[0]), uint8(200))
}
