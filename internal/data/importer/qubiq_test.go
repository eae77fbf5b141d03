package importer

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// niftiFile encodes values as a NIfTI-1 file of 16-bit numbers (data type 4) or floats (16).
func niftiFile(t *testing.T, order binary.AppendByteOrder, kind int16, slope, intercept float32, values []float32, lengths ...int) []byte {
	t.Helper()
	dim := [8]int16{int16(len(lengths)), 1, 1, 1, 1, 1, 1, 1}
	for i, n := range lengths {
		dim[i+1] = int16(n)
	}
	header := make([]byte, 352)
	copy(header, order.AppendUint32(nil, 348))
	for i, n := range dim {
		copy(header[40+2*i:], order.AppendUint16(nil, uint16(n)))
	}
	copy(header[70:], order.AppendUint16(nil, uint16(kind)))
	copy(header[72:], order.AppendUint16(nil, map[int16]uint16{4: 16, 16: 32}[kind]))
	for at, v := range map[int]float32{108: 352, 112: slope, 116: intercept} {
		copy(header[at:], order.AppendUint32(nil, math.Float32bits(v)))
	}
	copy(header[344:], "n+1\x00")
	for _, v := range values {
		if kind == 4 {
			header = order.AppendUint16(header, uint16(int16(v)))
		} else {
			header = order.AppendUint32(header, math.Float32bits(v))
		}
	}
	return header
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// ramp is 0, 1, 2, … n-1.
func ramp(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i)
	}
	return values
}

// box is 1 in a box of a volume and 0 beside it.
func box(w, h, d, x0, x1, y0, y1, z0, z1 int) []float32 {
	values := make([]float32, w*h*d)
	for z := z0; z < z1; z++ {
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				values[(z*h+y)*w+x] = 1
			}
		}
	}
	return values
}

func TestNIfTI(t *testing.T) {
	for name, data := range map[string][]byte{
		"little endian": niftiFile(t, binary.LittleEndian, 4, 0, 5, ramp(24), 4, 3, 2),
		"big endian":    niftiFile(t, binary.BigEndian, 16, 1, 0, ramp(24), 4, 3, 1, 2),
		"gzip":          zipped(t, niftiFile(t, binary.LittleEndian, 16, 0, 0, ramp(24), 4, 3, 2, 1)),
	} {
		v, err := readNIfTI(put(t, data, t.TempDir(), "a.nii"))
		require.NoError(t, err, name)
		assert.Equal(t, []int{4, 3, 2}, []int{v.W, v.H, v.D}, name)
		assert.Equal(t, ramp(24), v.Values, name)
	}
	v, err := readNIfTI(put(t, niftiFile(t, binary.LittleEndian, 4, 2, -1, ramp(24), 4, 3, 2), t.TempDir(), "a.nii"))
	require.NoError(t, err)
	assert.Equal(t, []float32{-1, 1, 3}, v.Values[:3], "slope and intercept")
	v.Values = ramp(24)
	values, w, h := v.Slice(2, 1)
	assert.Equal(t, []int{4, 3}, []int{w, h})
	assert.Equal(t, ramp(24)[12:], values)
	values, w, h = v.Slice(0, 1)
	assert.Equal(t, []int{3, 2}, []int{w, h})
	assert.Equal(t, []float32{1, 5, 9, 13, 17, 21}, values)
	values, w, h = v.Slice(1, 2)
	assert.Equal(t, []int{4, 2}, []int{w, h})
	assert.Equal(t, []float32{8, 9, 10, 11, 20, 21, 22, 23}, values)

	sound := niftiFile(t, binary.LittleEndian, 4, 1, 0, ramp(24), 4, 3, 2)
	changed := func(at int, b ...byte) []byte {
		data := bytes.Clone(sound)
		copy(data[at:], b)
		return data
	}
	packed := zipped(t, sound)
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-8] ^= 1 // the first byte of the checksum
	for want, data := range map[string][]byte{
		"or the file is cut short": sound[:300],
		"the file is cut short":    sound[:len(sound)-1],
		"no NIfTI file":            bytes.Repeat([]byte("text"), 100),
		"ends in .img":             changed(344, 'n', 'i', '1')[:348],
		"declares 9 axes":          changed(40, 9),
		"axis 1 has the length -1": changed(42, 255, 255),
		"too many":                 changed(42, 255, 127, 255, 127, 255, 127),
		"more than 3 axes":         changed(40, 4, 0, 4, 0, 3, 0, 2, 0, 2),
		"does not read colours":    changed(70, 128),
		"begin at byte 0":          changed(108, 0, 0, 0, 0),
		"is NaN":                   niftiFile(t, binary.LittleEndian, 16, 0, 0, []float32{float32(math.NaN())}, 1, 1),
		"its value 0 is 6.80":      niftiFile(t, binary.LittleEndian, 4, math.MaxFloat32, math.MaxFloat32, []float32{1}, 1, 1),
		"gzip: invalid header":     []byte("\x1f\x8bnonsense, and more than ten bytes"),
		"gzip: invalid checksum":   flipped,
		"more than 1 MiB follow":   zipped(t, append(bytes.Clone(sound), make([]byte, 2<<20)...)),
	} {
		_, err := readNIfTI(put(t, data, t.TempDir(), "a.nii"))
		require.ErrorContains(t, err, want)
	}
	_, err = readNIfTI(put(t, packed[:len(packed)-3], t.TempDir(), "a.nii"))
	require.ErrorContains(t, err, "cut short")
}

// brain-growth: images and masks are planes, some raters are missing, and a derived file holds the
// majority.
func TestQUBIQOfPlanes(t *testing.T) {
	const w, h = 9, 7
	root := t.TempDir()
	source := filepath.Join(root, "brain-growth")
	plane := func(values []float32) []byte {
		return zipped(t, niftiFile(t, binary.LittleEndian, 16, 1, 0, values, w, h, 1))
	}
	for _, c := range []string{"Training/case01", "Training/case02", "Validation/case03", "Validation/case04"} {
		put(t, plane(ramp(w*h)), source, c, "image.nii.gz")
		put(t, plane(box(w, h, 1, 2, 6, 1, 5, 0, 1)), source, c, "task01_seg01.nii.gz")
		put(t, plane(box(w, h, 1, 2, 5, 1, 5, 0, 1)), source, c, "task01_seg02.nii.gz")
	}
	put(t, plane(ramp(w*h)), source, "Training", "case01", "task01_seg_majority.nii.gz")
	put(t, []byte("{}"), source, "Training", "case01", "image.nii.json")
	put(t, zipped(t, niftiFile(t, binary.LittleEndian, 16, 1, 0, ramp(4), 2, 2)), source, "Training", "case02", "task01_seg02.nii.gz")
	put(t, []byte("\x1f\x8bno"), source, "Validation", "case03", "image.nii.gz")
	put(t, plane(ramp(w*h)), source, "Test", "case05", "image.nii.gz")
	put(t, plane(ramp(w*h)), source, "Test", "task01_seg01.nii.gz")
	s, err := qubiq.Run(t.Context(), Options{Source: source, Destination: filepath.Join(root, "set")})
	require.NoError(t, err)
	d, loaded := load(t, filepath.Join(root, "set"))
	assert.Equal(t, "qubiq-brain-growth", d.Name)
	assert.Equal(t, []string{"brain-growth"}, d.Classes)
	assert.Equal(t, []string{"rater1", "rater2"}, d.Raters)
	require.Len(t, loaded, 3)
	assert.Equal(t, "case01", loaded[0].Name)
	assert.Equal(t, [][]int{{3}, {2}}, s.Masks)
	assert.Nil(t, loaded[1].Masks[1][0], "its mask has another size")
	for i, v := range loaded[0].Masks[0][0] { // x along lines, y down
		x, y := i%w, i/w
		assert.Equal(t, x >= 2 && x < 6 && y >= 1 && y < 5, v == 1)
	}
	pix := loaded[0].Image.Pix
	assert.Equal(t, []uint8{0, 0, 0, 255, 255, 255}, append(pix[:3:3], pix[3*w*h-3:]...), "from the lowest value to the highest")
	assert.Equal(t, uint8(128), pix[3*31], "and evenly between, 31 of 62")
	skipped := reasons(s)
	assert.Contains(t, skipped["task01_seg_majority.nii.gz"], "neither")
	assert.Contains(t, skipped["task01_seg02.nii.gz"], "is 2×2×1, its image 9×7×1")
	assert.Contains(t, s.Skipped, Skip{filepath.Join(source, "Test", "case05", "image.nii.gz"),
		"nobody has marked it: there is no taskN_segN.nii beside it"})
	assert.Contains(t, s.Skipped, Skip{filepath.Join(source, "Validation", "case03", "image.nii.gz"), "the file is cut short"})
	assert.Contains(t, skipped["task01_seg01.nii.gz"], "no image.nii beside it")
	assert.Contains(t, skipped["image.nii.json"], "neither")
	assert.Len(t, s.Skipped, 6)

	put(t, plane(ramp(w*h)), root, "kidney", "Training", "case01", "image.nii.gz")
	_, err = qubiq.Run(t.Context(), Options{Source: root, Destination: filepath.Join(t.TempDir(), "x")})
	require.ErrorContains(t, err, "holds brain-growth, kidney; name the folder of one")
}

// brain-tumor: the image has several modalities, there are several tasks, and masks are planes.
func TestQUBIQOfModalities(t *testing.T) {
	const w, h = 6, 5
	source := filepath.Join(t.TempDir(), "brain-tumor", "Training")
	image := make([]float32, w*h*4)
	for i := range image {
		image[i] = float32(i / (w * h) * 10) // modality 1 to 4: 0, 10, 20, 30
	}
	put(t, niftiFile(t, binary.BigEndian, 4, 1, 0, image, w, h, 4), source, "case01", "image.nii")
	for _, name := range []string{"task01_seg01", "task01_seg03", "task02_seg01"} {
		put(t, niftiFile(t, binary.LittleEndian, 4, 1, 0, box(w, h, 1, 0, 3, 0, 3, 0, 1), w, h), source, "case01", name+".nii")
	}
	o := Options{Source: source, Destination: filepath.Join(t.TempDir(), "set"), Channels: []int{2, 3, 4}, Window: &[2]float64{0, 40},
		Classes: []string{"whole", "core"}}
	s, err := qubiq.Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, []string{"rater1", "rater3"}, s.Raters)
	assert.Equal(t, [][]int{{1, 1}, {1, 0}}, s.Masks)
	d, loaded := load(t, o.Destination)
	assert.Equal(t, "qubiq-brain-tumor", d.Name)
	assert.Equal(t, []uint8{64, 128, 191}, loaded[0].Image.Pix[:3])
	o.Destination += "2"
	o.Classes = []string{"whole"}
	_, err = qubiq.Run(t.Context(), o)
	require.ErrorContains(t, err, "1 classes are named, but there are 2 tasks")
	o.Classes = []string{"whole", "../core"}
	_, err = qubiq.Run(t.Context(), o)
	require.ErrorContains(t, err, `"../core" is not`)
	o.Classes, o.Channels = nil, []int{5}
	_, err = qubiq.Run(t.Context(), o)
	require.ErrorContains(t, err, "there is no channel 5: it has 4")
}

// The import refuses names that a data set cannot have before it reads anything: here the image is
// not even an image.
func TestQUBIQNames(t *testing.T) {
	source := filepath.Join(t.TempDir(), "brain growth")
	for _, name := range []string{"image.nii", "task01_seg01.nii"} {
		put(t, []byte("no volume"), source, "case01", name)
	}
	classes := func(names ...string) error {
		_, err := qubiq.Run(t.Context(), Options{Source: source, Destination: filepath.Join(t.TempDir(), "set"), Classes: names})
		return err
	}
	assert.ErrorContains(t, classes(), `the class "brain growth" is not 1 to 64 letters (a to z), digits, hyphens and underscores; name it with classes`)
	assert.ErrorContains(t, classes("white matter"), `the class "white matter" is not`)
	assert.ErrorContains(t, classes("brain"), "none of its images could be used")
	put(t, []byte("no volume"), source, "case01", "task02_seg01.nii")
	assert.ErrorContains(t, classes("a", "a"), `two classes are called "a"; name each its own with classes`)
	assert.ErrorContains(t, classes(), "none of its images could be used", "task01 and task02, whatever the folder's name")
}

// pancreas: volumes whose slices lie across the first axis.
func TestQUBIQOfVolumes(t *testing.T) {
	const w, h, d = 3, 8, 6
	source := filepath.Join(t.TempDir(), "pancreas")
	put(t, niftiFile(t, binary.LittleEndian, 4, 1, 0, ramp(w*h*d), w, h, d), source, "case1-1", "image.nii")
	put(t, niftiFile(t, binary.LittleEndian, 4, 1, 0, box(w, h, d, 1, 3, 2, 4, 1, 3), w, h, d), source, "case1-1", "task01_seg01.nii")
	put(t, niftiFile(t, binary.LittleEndian, 4, 1, 0, box(w, h, d, 2, 3, 2, 5, 1, 3), w, h, d), source, "case1-1", "task01_seg02.nii")
	o := Options{Source: source, Destination: filepath.Join(t.TempDir(), "one")}
	_, err := qubiq.Run(t.Context(), o)
	require.NoError(t, err)
	_, loaded := load(t, o.Destination)
	require.Len(t, loaded, 1)
	assert.Equal(t, "case1-1-slice003", loaded[0].Name, "where most is marked")
	assert.Empty(t, loaded[0].Group)
	assert.Equal(t, []int{h, d}, []int{loaded[0].W, loaded[0].H})
	for i, v := range loaded[0].Masks[1][0] {
		assert.Equal(t, i%h >= 2 && i%h < 5 && i/h >= 1 && i/h < 3, v == 1)
	}
	o.Destination += "all"
	o.AllSlices = true
	_, err = qubiq.Run(t.Context(), o)
	require.NoError(t, err)
	_, loaded = load(t, o.Destination)
	require.Len(t, loaded, 2)
	assert.Equal(t, "case1-1-slice002", loaded[0].Name)
	assert.Equal(t, []string{"case1-1", "case1-1"}, []string{loaded[0].Group, loaded[1].Group}, "no split parts them")
	o.Destination += "channels"
	o.Channels = []int{2}
	_, err = qubiq.Run(t.Context(), o)
	require.ErrorContains(t, err, filepath.Join(source, "case1-1", "image.nii")+": its third axis is slices, to which channels do not apply")
}

// A mask that is stored the other way round comes into its image's order; one that lies elsewhere
// is left out, with the reason.
func TestQUBIQInSpace(t *testing.T) {
	source := filepath.Join(t.TempDir(), "prostate")
	in := func(file []byte, step, origin float32) []byte {
		copy(file[254:], []byte{1, 0}) // the code of the rows
		for at, v := range map[int]float32{280: step, 292: origin, 280 + 20: 2, 280 + 40: 2} {
			copy(file[at:], binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
		return file
	}
	put(t, in(niftiFile(t, binary.LittleEndian, 4, 1, 0, ramp(12), 4, 3), 2, 10), source, "case01", "image.nii")
	put(t, in(niftiFile(t, binary.LittleEndian, 4, 1, 0, box(4, 3, 1, 0, 1, 0, 2, 0, 1), 4, 3), -2, 16), source, "case01", "task01_seg01.nii")
	put(t, in(niftiFile(t, binary.LittleEndian, 4, 1, 0, box(4, 3, 1, 0, 1, 0, 2, 0, 1), 4, 3), 2, 12), source, "case01", "task01_seg02.nii")
	put(t, niftiFile(t, binary.LittleEndian, 4, 1, 0, box(4, 3, 1, 0, 1, 0, 2, 0, 1), 4, 3), source, "case01", "task01_seg03.nii")
	o := Options{Source: source, Destination: filepath.Join(t.TempDir(), "set")}
	r, err := qubiq.Run(t.Context(), o)
	require.NoError(t, err)
	_, loaded := load(t, o.Destination)
	assert.Equal(t, []uint8{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0}, loaded[0].Masks[0][0], "turned about")
	require.NotNil(t, loaded[0].Place)
	assert.Equal(t, "2 0 0 10 0 2 0 0 0 0 2 0", loaded[0].Place.String(), "of affines.csv")
	require.Len(t, loaded[0].Masks, 2)
	assert.Equal(t, []uint8{1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, loaded[0].Masks[1][0], "of an unknown place")
	require.Len(t, r.Skipped, 1)
	assert.Contains(t, r.Skipped[0].File, "task01_seg02.nii")
	assert.Contains(t, r.Skipped[0].Reason, "it is moved by -1 voxels along axis 1 of its image")
}

// The challenge's Validation is what papers test on, unless there is a Test.
func TestQUBIQSplit(t *testing.T) {
	source, destination := filepath.Join(t.TempDir(), "kidney"), filepath.Join(t.TempDir(), "set")
	write := func(parts ...string) {
		folder := filepath.Join(append([]string{source}, parts...)...)
		put(t, niftiFile(t, binary.LittleEndian, 16, 1, 0, ramp(64), 8, 8), folder, "image.nii")
		put(t, niftiFile(t, binary.LittleEndian, 16, 1, 0, box(8, 8, 1, 2, 5, 2, 5, 0, 1), 8, 8), folder, "task01_seg01.nii")
	}
	run := func() *Summary {
		s, err := qubiq.Run(t.Context(), Options{Source: source, Destination: destination, Force: true})
		require.NoError(t, err)
		return s
	}
	write("Training", "case01")
	assert.Empty(t, run().Split)
	write("Training", "case02")
	write("Validation", "case01")
	s := run()
	assert.Equal(t, []string{"case02", "training-case01"}, s.Split.Train)
	assert.Equal(t, []string{"validation-case01"}, s.Split.Test)
	assert.Empty(t, s.Split.Validation)
	write("Test", "case09")
	s = run()
	assert.Equal(t, []string{"validation-case01"}, s.Split.Validation)
	assert.Equal(t, []string{"case09"}, s.Split.Test)
	d, _ := load(t, destination)
	assert.Len(t, d.Validation(), 1)
}
