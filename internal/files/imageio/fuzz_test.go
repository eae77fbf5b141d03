package imageio

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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

// seeds are files of own making and small files of others that Decode's header takes: those in a
// folder of MRPRISM_VECTORS, or those of golang.org/x/image whose names end in "."+format.
func seeds(t testing.TB, format string) (files [][]byte) {
	switch format {
	case "png":
		files = append(files, encodePNG(t, small()))
	case "jpeg":
		m := encodeJPEG(t, small())
		files = append(files, m, withExif(m, binary.BigEndian, 6), flatJPEG(0xc2, 0x42, 0x11, 0x11), flatJPEG(0xc0, 0x11, 0x11, 0x11, 0x11))
	case "tiff":
		find, err := os.ReadFile(filepath.Join("testdata", "fuzzed.tif"))
		require.NoError(t, err)
		files = append(files, find, strip(40, 24, 8, 7, flatJPEG(0xc0, 0x11, 0x11, 0x11, 0x11), [2]uint32{262, 5}, [2]uint32{277, 4}))
		for _, m := range pictures() {
			for _, o := range []*tiff.Options{nil, {Compression: tiff.Deflate, Predictor: true}} {
				var data bytes.Buffer
				require.NoError(t, tiff.Encode(&data, m, o))
				files = append(files, data.Bytes())
			}
		}
	case "bmp":
		for i, m := range pictures() {
			if i == 2 || i == 3 {
				continue // no BMP has 16 bits
			}
			var data bytes.Buffer
			require.NoError(t, bmp.Encode(&data, m))
			files = append(files, data.Bytes())
		}
		files = append(files, bitmapFile(12, 2, 24, 0, nil, 3, make([]byte, 16)...), bitmapFile(124, -2, 32, 3, nil, 3, make([]byte, 16)...))
	case "webp":
		files = append(files, onePixelWebP(t))
	case "dicom":
		files = append(files, dicomFile())
	case "nifti":
		files = append(files, niftiVolume(binary.LittleEndian), niftiVolume(binary.BigEndian))
	}
	folder, ending := filepath.Join(os.Getenv("MRPRISM_VECTORS"), format), ""
	if format == "bmp" || format == "webp" {
		module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/image").Output()
		require.NoError(t, err)
		folder, ending = filepath.Join(strings.TrimSpace(string(module)), "testdata"), "."+format
	} else if folder == format {
		folder = ""
	}
	if _, err := os.Stat(folder); err == nil {
		eachFile(t, folder, func(path string, data []byte) {
			if _, err := Header(path, data); err == nil && len(data) <= largestSeed && len(files) < mostSeeds && strings.HasSuffix(path, ending) {
				files = append(files, data)
			}
		})
	}
	return files
}

func small() image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, 9, 5))
	fill(m)
	return m
}

// pixelsOf are where the pixels begin, about.
func pixelsOf(format string, data []byte) int {
	at := 8
	switch format {
	case "png":
		at = 33
	case "jpeg":
		at = bytes.Index(data, []byte{0xff, 0xda})
	case "bmp":
		at = 54
	case "webp":
		at = 30
	case "dicom":
		at = bytes.LastIndex(data, []byte{0xe0, 0x7f, 0x10, 0})
	case "nifti":
		at = 352
	}
	return min(max(at, 0), len(data)-1)
}

// mutant edits a file: mostly its pixels, since a header with an error hides what is behind it.
// Each edit is five bytes: a kind, where, and what. What guards against errors is put right: the
// sums of a PNG's chunks and of gzip.
func mutant(format string, data, edits []byte) []byte {
	packed := bytes.HasPrefix(data, []byte{0x1f, 0x8b})
	if packed {
		if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, _ = io.ReadAll(io.LimitReader(z, 1<<20))
		}
	}
	data = bytes.Clone(data)
	for ; len(edits) >= 5 && len(data) > 1; edits = edits[min(5, len(edits)):] {
		from := pixelsOf(format, data)
		if edits[0]>>5 == 0 {
			from = 0
		}
		at := from + int(binary.BigEndian.Uint16(edits[1:]))*(len(data)-from)>>16
		few := int(edits[4]%16) + 1
		switch edits[0] % 8 {
		default:
			data[at] = edits[3]
		case 1:
			data[at] ^= 1 << (edits[3] % 8)
		case 2:
			data[at] += edits[3]%8 - 4
		case 3:
			data = slices.Delete(data, at, min(at+few, len(data)))
		case 4:
			data = slices.Insert(data, at, bytes.Repeat(edits[3:4], few)...)
		case 5:
			copy(data[at:], data[from+int(edits[3])*(len(data)-from)>>8:][:min(few, len(data)-at, (len(data)-from)*(256-int(edits[3]))>>8)])
		case 6:
			data[at], data[min(at+1, len(data)-1)] = edits[3], edits[4]
		case 7:
			if edits[3] == 0 { // rarely
				data = data[:at]
			}
		}
	}
	if format == "png" {
		for at := 8; at+12 <= len(data); {
			size := int64(binary.BigEndian.Uint32(data[at:]))
			if size > int64(len(data)-at-12) {
				break
			}
			end := at + 8 + int(size)
			binary.BigEndian.PutUint32(data[end:], crc32.ChecksumIEEE(data[at+4:end]))
			at = end + 4
		}
	}
	if packed {
		var out bytes.Buffer
		z := gzipper(&out)
		z.Write(data)
		z.Close()
		data = out.Bytes()
	}
	return data
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

// Of the mutants that fuzzing tries, at least 30 % must get past the header.
func TestMutantsPassTheHeader(t *testing.T) {
	for _, format := range []string{"png", "jpeg", "tiff", "bmp", "webp", "dicom", "nifti"} {
		const tries = 1000
		files, random, passed := seeds(t, format), rand.New(rand.NewPCG(39, 15)), 0
		for i := range tries {
			edits := make([]byte, 5*(1+random.IntN(8)))
			for k := range edits {
				edits[k] = byte(random.Uint32())
			}
			data := mutant(format, files[i%len(files)], edits)
			if _, err := Header("mutant", data); err == nil {
				passed++
			}
			if i%10 == 0 {
				fuzzed(t, data)
			}
		}
		t.Logf("%s: %d files, %.1f %% of the mutants pass the header", format, len(files), 100*float64(passed)/tries)
		assert.Greater(t, passed, tries*30/100, format)
	}
}

// fuzz has Go choose a file and its edits.
func fuzz(f *testing.F, format string) {
	files := seeds(f, format)
	for i := range files {
		f.Add(uint16(i), []byte{})
	}
	f.Fuzz(func(t *testing.T, file uint16, edits []byte) {
		fuzzed(t, mutant(format, files[int(file)%len(files)], edits[:min(len(edits), 16*5)]))
	})
}

func FuzzDecodePNG(f *testing.F)   { fuzz(f, "png") }
func FuzzDecodeJPEG(f *testing.F)  { fuzz(f, "jpeg") }
func FuzzDecodeTIFF(f *testing.F)  { fuzz(f, "tiff") }
func FuzzDecodeBMP(f *testing.F)   { fuzz(f, "bmp") }
func FuzzDecodeWebP(f *testing.F)  { fuzz(f, "webp") }
func FuzzDecodeDICOM(f *testing.F) { fuzz(f, "dicom") }
func FuzzDecodeNIfTI(f *testing.F) { fuzz(f, "nifti") }
