package codec

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"mrprism/internal/files/raster"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever is in a header, reading it takes no memory, and gives a size that a picture
// can have.
func TestMutantsOfHeaders(t *testing.T) {
	begins := map[Kind]string{JPEG2000: "\xff\x4f\xff\x51", HTJ2K: "\xff\x4f\xff\x51", JPEGLS: "\xff\xd8\xff\xf7"}
	files := map[string]Kind{
		"greyj2k": JPEG2000, "lossyj2k": JPEG2000, "signedj2k": JPEG2000, "rgbht": HTJ2K, "greyjls": JPEGLS, "planesjls": JPEGLS, "nearjls": JPEGLS,
	}
	read, refused := 0, 0
	for name, kind := range files {
		data, err := os.ReadFile(filepath.Join("..", "dicom", "testdata", name+".dcm"))
		require.NoError(t, err)
		data = data[bytes.Index(data, []byte(begins[kind])):]
		_, err = kind.Read(data)
		require.NoError(t, err, name)
		if kind == JPEGLS {
			_, err = kind.Read(data[:bytes.LastIndex(data, []byte(endOfPicture))])
			assert.Equal(t, raster.ErrShort, err, "%s without its end", name)
		}
		r := rand.New(rand.NewPCG(56, 0))
		for n := range 2000 {
			mutant := bytes.Clone(data)
			for range 1 + r.IntN(3) {
				switch at := r.IntN(min(len(mutant), 80)); r.IntN(5) {
				case 0:
					mutant[at] ^= 1 << r.IntN(8)
				case 1:
					mutant[at] = byte(r.IntN(256))
				case 2:
					mutant = append(mutant[:at:at], mutant[min(len(mutant), at+r.IntN(8)):]...)
				case 3:
					copy(mutant[at:], []byte{255, 255, 255, 255}[r.IntN(4):])
				default:
					mutant = append(mutant[:at:at], append([]byte{byte(r.IntN(256)), 0}, mutant[at:]...)...)
				}
				if len(mutant) == 0 {
					mutant = []byte{0}
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			form, err := kind.Read(mutant)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%s, mutant %d", name, n)
			if err != nil {
				refused++
				continue
			}
			read++
			assert.True(t, form.W >= 1 && form.W <= mostSide && form.H >= 1 && form.H <= mostSide && form.Bits >= 1 && form.Bits <= 16, "%s, mutant %d: %v", name, n, form)
		}
	}
	t.Logf("%d headers read, %d refused", read, refused)
	assert.Greater(t, read, 2000, "mutants have to reach what is behind the header")
}
