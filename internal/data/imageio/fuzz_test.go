package imageio

import (
	"bytes"
	"encoding/binary"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

const (
	largestSeed = 32 << 10 // bytes; larger files are slow to mutate
	mostSeeds   = 200      // of a folder of files of others
)

// allocated is how many bytes this process has allocated so far, garbage among them.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// fuzz mutates files of own making and small files of others: those in a folder of MRPRISM_VECTORS,
// or those of golang.org/x/image whose names end in "."+format.
func fuzz(f *testing.F, format string, own ...[]byte) {
	for _, data := range own {
		f.Add(data)
	}
	folder, ending := filepath.Join(os.Getenv("MRPRISM_VECTORS"), format), ""
	if format == "bmp" || format == "webp" {
		module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/image").Output()
		require.NoError(f, err)
		folder, ending = filepath.Join(strings.TrimSpace(string(module)), "testdata"), "."+format
	} else if folder == format {
		folder = ""
	}
	seeds := 0
	if _, err := os.Stat(folder); err == nil {
		eachFile(f, folder, func(path string, data []byte) {
			if len(data) <= largestSeed && seeds < mostSeeds && strings.HasSuffix(path, ending) {
				f.Add(data)
				seeds++
			}
		})
	}
	f.Fuzz(fuzzed)
}

// fuzzed decodes data. A panic in a reader would come back as an error that tells of it. Ten seconds
// are ten times what a file may take.
func fuzzed(t *testing.T, data []byte) {
	begun, before := time.Now(), allocated()
	got, err := Decode("fuzzed", data)
	require.Less(t, allocated()-before, uint64(MaxMemory+2*slack))
	require.Less(t, time.Since(begun), 10*time.Second)
	if err != nil {
		var e *Error
		require.ErrorAs(t, err, &e)
		require.NotContains(t, err.Error(), "runtime error")
		require.Nil(t, got)
		return
	}
	require.Len(t, got.Pix, 3*got.W*got.H)
	require.Positive(t, got.W*got.H)
}

func small() image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, 9, 5))
	fill(m)
	return m
}

func FuzzDecodePNG(f *testing.F) {
	fuzz(f, "png", encodePNG(f, small()), hugePNG(30000, 30000), []byte("text"))
}

func FuzzDecodeJPEG(f *testing.F) {
	m := encodeJPEG(f, small())
	fuzz(f, "jpeg", m, withExif(m, binary.BigEndian, 6))
}

func FuzzDecodeTIFF(f *testing.F) {
	var own [][]byte
	for _, m := range pictures() {
		for _, o := range []*tiff.Options{nil, {Compression: tiff.Deflate, Predictor: true}} {
			var data bytes.Buffer
			require.NoError(f, tiff.Encode(&data, m, o))
			own = append(own, data.Bytes())
		}
	}
	fuzz(f, "tiff", own...)
}

func FuzzDecodeBMP(f *testing.F) {
	var own [][]byte
	for i, m := range pictures() {
		if i == 2 || i == 3 {
			continue // no BMP has 16 bits
		}
		var data bytes.Buffer
		require.NoError(f, bmp.Encode(&data, m))
		own = append(own, data.Bytes())
	}
	fuzz(f, "bmp", own...)
}

func FuzzDecodeWebP(f *testing.F) { fuzz(f, "webp", onePixelWebP(f)) }

func FuzzDecodeDICOM(f *testing.F) { fuzz(f, "dicom", dicomFile()) }

func FuzzDecodeNIfTI(f *testing.F) {
	fuzz(f, "nifti", niftiVolume(binary.LittleEndian), niftiVolume(binary.BigEndian))
}
