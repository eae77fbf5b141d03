package nifti

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// placed is a volume whose voxel (i, j, k) lies at origin + i·x + j·y + k·z in mm; its value tells
// where that is.
func placed(w, h, d int, x, y, z, origin [3]float64) *Volume {
	g := &Geometry{sform: 1}
	v := &Volume{W: w, H: h, D: d, Place: g}
	for i := range 3 {
		g.rows[i] = [4]float64{x[i], y[i], z[i], origin[i]}
	}
	for k := range d {
		for j := range h {
			for i := range w {
				value := 0.
				for axis, weight := range [3]float64{1, 100, 10_000} {
					value += weight * (float64(i)*x[axis] + float64(j)*y[axis] + float64(k)*z[axis] + origin[axis])
				}
				v.Values = append(v.Values, float32(math.Round(value)))
			}
		}
	}
	return v
}

// A mask comes into the order of its image's voxels, or the error says how the spaces differ.
func TestIn(t *testing.T) {
	image := placed(4, 3, 2, [3]float64{2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 5}, [3]float64{10, 20, 30})
	for name, mask := range map[string]*Volume{
		"the same":      placed(4, 3, 2, [3]float64{2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 5}, [3]float64{10, 20, 30}),
		"turned about":  placed(4, 3, 2, [3]float64{-2, 0, 0}, [3]float64{0, -3, 0}, [3]float64{0, 0, 5}, [3]float64{16, 26, 30}),
		"axes exchange": placed(2, 4, 3, [3]float64{0, 0, -5}, [3]float64{2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{10, 20, 35}),
		"rounded":       placed(4, 3, 2, [3]float64{2.001, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 5}, [3]float64{10.01, 20, 30}),
	} {
		got, err := mask.In(image)
		require.NoError(t, err, name)
		require.Equal(t, []int{4, 3, 2}, []int{got.W, got.H, got.D}, name)
		require.Equal(t, image.Values, got.Values, name)
	}
	for want, mask := range map[string]*Volume{
		"it is moved by -0.5 voxels along axis 1":                      placed(4, 3, 2, [3]float64{2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 5}, [3]float64{11, 20, 30}),
		"it is moved by -2 voxels along axis 2":                        placed(4, 3, 2, [3]float64{2, 0, 0}, [3]float64{0, -3, 0}, [3]float64{0, 0, 5}, [3]float64{10, 20, 30}),
		"a voxel along axis 3 of its image is 0, 0, 1.25 voxels of it": placed(4, 3, 2, [3]float64{2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 4}, [3]float64{10, 20, 30}),
		"has no inverse": placed(4, 3, 2, [3]float64{2, 0, 0}, [3]float64{2, 0, 0}, [3]float64{0, 0, 5}, [3]float64{}),
	} {
		_, err := mask.In(image)
		require.ErrorContains(t, err, want)
	}
	plane := placed(4, 3, 1, [3]float64{2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 1}, [3]float64{10, 20, 0})
	got, err := plane.In(image)
	require.NoError(t, err, "beside modalities")
	require.Equal(t, plane.Values, got.Values)
	for _, unknown := range []*Volume{{Place: new(Geometry)}, placed(4, 3, 2, [3]float64{-1, 0, 0}, [3]float64{0, -1, 0}, [3]float64{0, 0, 1}, [3]float64{})} {
		got, err := unknown.In(image)
		require.NoError(t, err)
		require.Same(t, unknown, got, "it does not know where it is")
	}
}

// The quaternion says the same as the rows: of a half turn around z, by nifti1.h.
func TestQuaternion(t *testing.T) {
	g := &Geometry{qform: 1, quaternion: [3]float64{0, 0, 1}, pixels: [3]float64{2, 3, 5}, mirror: -1, offset: [3]float64{7, 8, 9}}
	a, known := g.placing()
	require.True(t, known)
	require.Equal(t, [3][4]float64{{-2, 0, 0, 7}, {0, -3, 0, 8}, {0, 0, -5, 9}}, a)
}

// A slice fits an image whose pixels lie where its own do, wherever the slices lie. An affine is
// written and read.
func TestFits(t *testing.T) {
	image, err := Placed(placed(1, 1, 1, [3]float64{-2, 0, 0}, [3]float64{0, 3, 0}, [3]float64{0, 0, 5}, [3]float64{10, 20.5, 30}).Place.String())
	require.NoError(t, err)
	require.Equal(t, "-2 0 0 10 0 3 0 20.5 0 0 5 30", image.String())
	for affine, want := range map[string]string{
		"-2 0 0 10 0 3 0 20.5 0 0 5 80":    "",
		"-2.001 0 0 10 0 3 0 20.6 0 0 1 0": "",
		"1 0 0 0 0 1 0 0 0 0 1 0":          "", // says nothing
		"2 0 0 10 0 3 0 20.5 0 0 5 30":     "a pixel along its axis 1 is a step of [2 0 0] mm, and in its image of [-2 0 0] mm: orientation or spacing differ",
		"-2 0 0 10 0 3.1 0 20.5 0 0 5 30":  "along its axis 2",
		"0 -2 0 10 3 0 0 20.5 0 0 5 30":    "orientation",
		"-2 0 0 10 0 3 0 23.5 0 0 5 30":    "it is moved by 1 pixels along axis 2",
	} {
		g, err := Placed(affine)
		require.NoError(t, err)
		if err := g.Fits(image); want == "" {
			require.NoError(t, err, affine)
		} else {
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, g.Fits(nil))
	}
	for _, bad := range []string{"", "1 2 3", "a 0 0 0 0 1 0 0 0 0 1 0", "0 0 0 0 0 1 0 0 0 0 1 0"} {
		_, err := Placed(bad)
		require.ErrorContains(t, err, "is no affine")
	}
}
