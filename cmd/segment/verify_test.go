package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"
)

// proofs are what -verify prints of the results in a folder, and whether all are equal.
func proofs(t *testing.T, args ...string) (all []proof, proven bool) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"-json", "-", "-verify"}, args...), &stdout, &stderr)
	require.Contains(t, []int{0, 1}, code, stderr.String())
	for d := json.NewDecoder(&stdout); d.More(); {
		var p proof
		require.NoError(t, d.Decode(&p))
		all = append(all, p)
	}
	require.NotEmpty(t, all, stderr.String())
	return all, code == 0
}

// Results of every kind are computed again, and are equal; also elsewhere.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "OD.jpg"), encodeJPEG(t, synthetic.Photograph(synthetic.SampleSeed, 240, 200)))
	mark := write(t, filepath.Join(dir, "mark.png"), encodePNG(t, image.NewGray(image.Rect(0, 0, 240, 200))))
	cells := write(t, filepath.Join(dir, "cells.png"), encodePNG(t, segmenttest.Cells()))
	levels := weightsFile(t, dir, segmenttest.Fundus(), nil)
	scan := folder(t, filepath.Join(dir, "scan"), 0, 2, 4)
	for name, args := range map[string][]string{
		"photograph": {"-weights", levels, "-recurrences", "2", photo},
		"region":     {"-weights", "fundus", "-roi", "20,30,100", "-format", "png,npy,nifti,svg,tiff", photo},
		"int8":       {"-weights", "fundus", "-precision", "int8", photo},
		"marks":      {"-weights", "fundus", "-evidence", "you/cup=" + mark, photo},
		"ensemble":   {"-weights", levels + "+" + levels, photo},
		"cells":      {"-weights", "cells", "-roi", "all", "-format", "labels-png,csv,coco,geojson", cells},
		"series":     {"-weights", "newborn-brain", "-slice", "all", "-format", "dicom-seg,nifti,identity", scan},
		"anonymous":  {"-weights", "newborn-brain", "-slice", "all", "-format", "dicom-seg,nifti", scan},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			made := call(t, append([]string{"-device", "processor", "-out", out}, args...)...)
			require.Zero(t, made.code, made.stderr)
			all, proven := proofs(t, out)
			for _, p := range all {
				assert.Equal(t, equal, p.Verdict, "%v", p)
			}
			assert.Equal(t, name == "anonymous", strings.Contains(all[0].Text, "identifiers of their own run"), all[0].Text)
			assert.True(t, proven)
		})
	}

	out := filepath.Join(dir, "out")
	require.Zero(t, call(t, "-device", "processor", "-weights", levels, "-out", out, photo).code)
	moved := filepath.Join(dir, "moved.png")
	require.NoError(t, os.Rename(photo, moved))
	verdict := func(t *testing.T, want, text string, args ...string) {
		t.Helper()
		all, proven := proofs(t, append([]string{out}, args...)...)
		assert.Equal(t, want, all[0].Verdict, "%v", all[0])
		assert.Contains(t, all[0].Text, text)
		assert.Equal(t, want == equal, proven)
	}
	verdict(t, unprovable, "is not here: name it after -verify DIR")
	verdict(t, equal, "10 files", moved)
	verdict(t, equal, "10 files", dir)
	elsewhere := filepath.Join(dir, "w.safetensors")
	require.NoError(t, os.Rename(levels, elsewhere))
	verdict(t, unprovable, "give -weights FILE", "-weights", "cells", moved)
	verdict(t, equal, "10 files", "-weights", elsewhere, moved)
	require.NoError(t, os.Rename(elsewhere, levels))
	t.Run("on GPUs", func(t *testing.T) {
		if all, proven := proofs(t, out, moved, "-device", "dawn"); !proven {
			assert.Equal(t, unprovable, all[0].Verdict)
			assert.Contains(t, all[0].Text, "rounds in its own way")
		}
	})
	entry := filepath.Join(out, "OD.json")
	text := must(os.ReadFile(entry))
	reseal(t, entry, func(e *journal.Entry) { e.Program, e.Sharpness = "segment 0.1", 1 })
	verdict(t, unprovable, "segment 0.1 made it", moved)
	write(t, entry, regexp.MustCompile(`,\s*"entry_sha256": "\w+"`).ReplaceAll(text, nil))
	verdict(t, unprovable, "no sums", moved)
	write(t, entry, text[:100])
	verdict(t, differs, "cut or damaged", moved)
	for _, wrong := range [][]string{{"-verify", dir}, {"-verify", filepath.Join(dir, "none")}, {"-verify", out, "-roi", "none"}} {
		r := call(t, wrong...)
		assert.Equal(t, 2, r.code, r.stderr)
	}
}

// reseal changes an entry, and seals it anew.
func reseal(t *testing.T, path string, change func(e *journal.Entry)) {
	t.Helper()
	e := entryOf(t, path)
	e.Seal = ""
	change(&e)
	text, err := journal.Text(e)
	require.NoError(t, err)
	write(t, path, text)
}

// A bit that is flipped in a result, its image or its weights is found, also where somebody has put
// the sums right.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "eye.png"), encodePNG(t, synthetic.Photograph(synthetic.SampleSeed, 120, 100)))
	levels := weightsFile(t, dir, segmenttest.Fundus(), nil)
	out := filepath.Join(dir, "out")
	require.Zero(t, call(t, "-device", "processor", "-weights", levels, "-out", out, photo).code)
	entry := filepath.Join(out, "eye.json")
	e, text := entryOf(t, entry), must(os.ReadFile(entry))
	random := rand.New(rand.NewPCG(65, 0))
	flipped := func(data []byte) []byte {
		data = bytes.Clone(data)
		bit := random.IntN(8 * len(data))
		data[bit/8] ^= 1 << (bit % 8)
		return data
	}

	many := filepath.Join(dir, "many")
	require.NoError(t, os.Mkdir(many, 0o755))
	figure := regexp.MustCompile(`:-?[1-9]`)
	for i := range 500 {
		other, stem := entryOf(t, entry), fmt.Sprintf("r%d", i)
		other.Seal, other.Files.All = "", nil
		which := random.IntN(len(e.Files.All))
		for k, f := range e.Files.All {
			data := must(os.ReadFile(filepath.Join(out, f.File)))
			if f.File = stem + f.File; k == which && i < 400 {
				data = flipped(data)
			}
			f.Sum = disk.SumOf(data)
			write(t, filepath.Join(many, f.File), data)
			other.Files.All = append(other.Files.All, f)
		}
		if i >= 400 { // a figure
			text := must(json.Marshal(other.Measurements))
			at := figure.FindAllIndex(text, -1)
			digit := &text[at[random.IntN(len(at))][1]-1]
			*digit = " 234567891"[*digit-'0']
			other.Measurements = segment.Measurements{}
			require.NoError(t, json.Unmarshal(text, &other.Measurements))
		}
		write(t, filepath.Join(many, stem+".json"), must(journal.Text(other)))
	}
	all, _ := proofs(t, many)
	require.Len(t, all, 500)
	for _, p := range all {
		assert.Equal(t, differs, p.Verdict, p.Result)
		assert.Len(t, p.Differences, 1, "%v", p)
	}

	original := map[string][]byte{entry: text, photo: must(os.ReadFile(photo)), levels: must(os.ReadFile(levels))}
	for path, count := range map[string]int{entry: 300, photo: 100, levels: 100} {
		for range count {
			write(t, path, flipped(original[path]))
			_, proven := proofs(t, out)
			assert.False(t, proven, path)
		}
		write(t, path, original[path])
	}
	_, proven := proofs(t, out)
	assert.True(t, proven)
}

// Results are equal at every level of vectors, and on any number of threads.
// MRPRISM_PHOTOGRAPHS=MODEL:DIR,... names given photographs in place of 20 drawn ones.
func TestVerifyEverywhere(t *testing.T) {
	drawn := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(drawn, fmt.Sprintf("%d.jpg", i)), encodeJPEG(t, synthetic.Photograph(uint64(i), 360+i, 300)))
	}
	for set := range strings.SplitSeq(cmp.Or(os.Getenv("MRPRISM_PHOTOGRAPHS"), "fundus:"+drawn), ",") {
		model, folder, _ := strings.Cut(set, ":")
		for _, precision := range []string{"f32", "int8"} {
			out := filepath.Join(t.TempDir(), "out")
			made := call(t, "-weights", model, "-device", "processor", "-precision", precision, "-quiet", "-out", out, folder)
			require.Zero(t, made.code, made.stderr)
			for with, level := range map[string]string{
				"GODEBUG=cpu.avx512vnni=off": "", "GOMAXPROCS=1": "", "GOMAXPROCS=8": "", // the best level here
				"GODEBUG=cpu.avx512f=off": "Go float32 in AVX2 [", "GODEBUG=cpu.avx512f=off,cpu.avx2=off": "Go float32 [",
			} {
				t.Run(strings.Join([]string{filepath.Base(folder), precision, with}, " "), func(t *testing.T) {
					cmd := process("-verify", out)
					cmd.Env = append(cmd.Env, with)
					said, err := cmd.CombinedOutput()
					require.NoError(t, err, string(said))
					if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
						assert.Contains(t, string(said), level)
					}
					t.Logf("%d equal", bytes.Count(said, []byte(": EQUAL: ")))
				})
			}
		}
	}
}
