//go:build !js

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/weights/disk"
)

// writeComparison writes a comparison of two images.
func writeComparison(t *testing.T, r *runner, d data, seed int, rows ...string) {
	t.Helper()
	folder := r.compared(d, seed)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	text := "\ufefffolder,image,class,method,pass,soft_dice,brier,ece\n" + strings.Join(rows, "\n") + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "cases.csv"), []byte(text), 0o644))
}

// Scores stay when the folder of trainings goes, and new ones join them. Of several passes the last
// one counts. What is kept is not trained again.
func TestScoresStay(t *testing.T) {
	d := data{name: "hearts"}
	r := &runner{out: t.TempDir(), scores: filepath.Join(t.TempDir(), "scores"), seeds: 2}
	writeComparison(t, r, d, 1,
		"x,'+a,disc,mean-vote,0,0.8,0.1,0.2", "x,b,disc,mean-vote,0,0.6,0.1,", "x,'+a,disc,paper,0,0.1,0.1,0.1", "x,'+a,disc,paper,1,0.9,0.1,0.1", "x,b,disc,paper,1,0.7,0.1,0.1")
	require.NoError(t, r.collect(d))
	names, err := records(filepath.Join(r.compared(d, 1), "cases.csv"))
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "+a"}, []string{names[0]["folder"], names[0]["image"]})
	r.out = t.TempDir()
	writeComparison(t, r, d, 2, "x,'+a,disc,mean-vote,0,0.4,0.1,0.2", "x,b,disc,mean-vote,0,0.2,0.1,0.3")
	require.NoError(t, r.collect(d))
	before, err := os.ReadFile(r.scoresFile(d))
	require.NoError(t, err)
	require.NoError(t, r.collect(d))
	after, err := os.ReadFile(r.scoresFile(d))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "nothing twice")

	all, classes, err := r.read(d)
	require.NoError(t, err)
	assert.Equal(t, []string{"disc"}, classes)
	base, other := key{"disc", "mean-vote", "soft_dice"}, key{"disc", "paper", "soft_dice"}
	assert.Len(t, all[base], 2)
	assert.Len(t, all[other], 1)
	rounded := func(rows [][]float64) string { return fmt.Sprintf("%.2f", rows) }
	assert.Equal(t, "[[0.80 0.60] [0.40 0.20]]", rounded(all.values(base)))
	assert.Equal(t, "[[0.90 0.70]]", rounded(all.values(other)))
	assert.Equal(t, "[[0.10 0.10]]", rounded(all.differences(other, base)), "of the first seed, which both have")
	assert.Equal(t, "[[0.20 NaN] [0.20 0.30]]", rounded(all.values(key{"disc", "mean-vote", "ece"})), "undefined in b with the first seed")
	done, err := r.done(d)
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"mean-vote-seed1": true, "mean-vote-seed2": true, "paper-seed1": true}, done)

	require.NoError(t, os.WriteFile(r.scoresFile(d), []byte("class,method,seed,kept,figure,a\ndisc,paper,one,1,ece,0.1\n"), 0o644))
	_, err = r.kept(d)
	assert.ErrorContains(t, err, "hearts.csv")
}

// hearts writes a data set of 11 images.
func hearts(t *testing.T, folder string) {
	t.Helper()
	require.NoError(t, dataset.Description{Name: "hearts", Classes: []string{"heart"}, Raters: []string{"a", "b"}}.Write(folder))
	var text bytes.Buffer
	require.NoError(t, png.Encode(&text, image.NewGray(image.Rect(0, 0, 4, 4))))
	for i := range 11 {
		for _, within := range []string{"images", "raters/a/heart", "raters/b/heart"} {
			require.NoError(t, disk.WriteFile(folder, filepath.Join(within, fmt.Sprintf("%02d.png", i)), text.Bytes()))
		}
	}
}

// Of real images each seed holds out another fifth, the first one that of a data set without a
// split. Generated images are many: their seeds hold out the same. Patients are not divided, and
// their scores are means.
func TestFolds(t *testing.T) {
	source := t.TempDir()
	hearts(t, source)
	r, held := &runner{out: t.TempDir()}, map[string]int{}
	for seed := 2; seed <= 5; seed++ {
		args, err := r.split(data{name: "hearts", folder: "hearts"}, seed, source)
		require.NoError(t, err)
		require.Len(t, args, 2)
		text, err := os.ReadFile(args[1])
		require.NoError(t, err)
		var s dataset.Split
		require.NoError(t, json.Unmarshal(text, &s))
		assert.Len(t, append(s.Train, s.Test...), 11)
		for _, name := range s.Test {
			held[name]++
		}
	}
	assert.Equal(t, map[string]int{"00": 1, "01": 1, "02": 1, "03": 1, "05": 1, "06": 1, "07": 1, "08": 1, "10": 1}, held, "all but 04 and 09, every fifth")
	for _, x := range []run{{data: data{name: "hearts", folder: "hearts"}, seed: 1}, {data: data{name: "drawn"}, seed: 3}} {
		args, err := r.split(x.data, x.seed, source)
		require.NoError(t, err)
		assert.Empty(t, args, x.data.name)
	}

	r.shared = filepath.Dir(source)
	require.NoError(t, os.WriteFile(filepath.Join(source, "groups.csv"), []byte("name,group\n03,p\n00,p\n07,p\n"), 0o644))
	d := data{name: "patients", folder: filepath.Base(source), patients: true}
	args, err := r.split(d, 5, source)
	require.NoError(t, err)
	text, err := os.ReadFile(args[1])
	require.NoError(t, err)
	var s dataset.Split
	require.NoError(t, json.Unmarshal(text, &s))
	assert.Equal(t, []string{"00", "03", "06", "07"}, s.Test, "the first and the sixth of nine patients")
	scores, err := r.scored(d, 1, []map[string]string{
		{"image": "00", "class": "heart", "method": "m", "soft_dice": "0.5"}, {"image": "03", "class": "heart", "method": "m", "soft_dice": "0.7"},
		{"image": "08", "class": "heart", "method": "m", "soft_dice": "0.9"},
	})
	require.NoError(t, err)
	assert.InDeltaMapValues(t, map[string]float64{"p": 0.6, "08": 0.9}, scores[0].of, 1e-9)
}

// An ensemble is the mean of its networks, which have seeds of their own.
func TestEnsemble(t *testing.T) {
	r := &runner{out: t.TempDir(), programs: t.TempDir()}
	x := run{data: data{name: "hearts"}, entry: ensemble, seed: 2}
	seeds := map[string]bool{}
	for i, member := range x.members() {
		folder := filepath.Join(r.out, "hearts", "ensemble-seed2", fmt.Sprint(i+1))
		assert.Equal(t, folder, r.folder(member))
		assert.Contains(t, strings.Split(r.weights(x), "+"), filepath.Join(folder, "model.f32.safetensors"))
		seeds[member.args[len(member.args)-1]] = true
	}
	assert.Len(t, seeds, 5)
}

// A run of three times the steps has three times the epochs.
func TestLongerRuns(t *testing.T) {
	r := &runner{out: t.TempDir(), shared: t.TempDir(), steps: 600}
	folder := filepath.Join(r.shared, "hearts", "images")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for i := range 10 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), nil, 0o644))
	}
	for longer, phases := range map[int]string{0: "64:300", 3: "64:900"} {
		args, err := r.arguments(t.Context(), run{data: data{name: "hearts", folder: "hearts", side: 64}, entry: entry{longer: longer}, seed: 1})
		require.NoError(t, err)
		assert.Contains(t, args, phases)
	}
}
