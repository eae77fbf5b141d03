package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"mrprism/internal/program/cli"
	"mrprism/internal/train"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The bar takes the room beside the text; without room the text is cut off. No line is wider than
// the terminal.
func TestTheBarFits(t *testing.T) {
	assert.Equal(t, " 25 % ██████░░░░░░░░░░░░░░░░░░  step 1/4", fitted(1, 4, "step 1/4", 40))
	assert.Equal(t, "100 % ██████████████████████████████  done", fitted(4, 4, "done", 200))
	assert.Equal(t, "a text that", fitted(1, 4, "a text that is long", 11))
	for width := range 100 {
		assert.LessOrEqual(t, utf8.RuneCountInString(fitted(3, 7, "step 3/7  128²", width)), width)
	}
}

// A run writes curves and event files, also after it was stopped and continued, and ends with a
// table.
func TestWhatARunShows(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	code, _, stderr := invoke(t.Context(), arguments(data, out, "1", "-hours", "1e-9")...)
	require.Equal(t, cli.Done, code, stderr)
	code, _, stderr = invoke(t.Context(), arguments(data, out, "1", "-resume")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Regexp(t, `steps +2 of 2, 1 of them now \(epoch 1 of 1, 64²\)`, stderr)
	assert.Regexp(t, `time +\d+s; a step [\d.]+ s, [\d.]+ images/s`, stderr)
	assert.Regexp(t, `not on the device +[\d.]+ % of a step, [\d.]+ % waiting for data`, stderr)
	assert.Regexp(t, `loss +[\d.]+: dice [\d.]+, evidence [\d.]+, fade [\d.]+, heads`, stderr)
	for _, name := range []string{"eyes.safetensors", curvesName, configurationName, boardFolder} {
		assert.Contains(t, stderr, filepath.Join(out, name))
	}

	svg := readFile(t, out, curvesName)
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	assert.Contains(t, string(svg), "2 steps, 1 epochs")

	events, err := os.ReadDir(filepath.Join(out, boardFolder))
	require.NoError(t, err)
	require.Len(t, events, 2, "one for each start")
	for i, e := range events {
		content := string(readFile(t, out, boardFolder, e.Name()))
		for _, tag := range []string{"brain.Event:2", "loss/all", "loss/fade", "rate", "images per second", "mask after each recurrence"} {
			assert.Equal(t, 1, strings.Count(content, tag), "%s in file %d", tag, i)
		}
	}
}

// A picture is a row for each class: image, votes, masks.
func TestTiles(t *testing.T) {
	p := &train.Picture{
		Side: 1, Classes: 2, Image: []float32{1, 0.5, 0}, Votes: []float32{0.25, 1}, Masks: [][]float32{{0, 0.2}, {0.4, 2}},
	}
	picture := tiles(p)
	require.Equal(t, "(0,0)-(10,4)", picture.Bounds().String())
	grey := func(v uint8) color.RGBA { return color.RGBA{v, v, v, 255} }
	for row, want := range [][]color.RGBA{{{255, 128, 0, 255}, grey(64), grey(0), grey(102)}, {{255, 128, 0, 255}, grey(255), grey(51), grey(255)}} {
		for column, c := range want {
			assert.Equal(t, c, picture.At(3*column, 3*row), "row %d, column %d", row, column)
		}
	}
}

// Without a log there are no curves.
func TestNoCurves(t *testing.T) {
	err := drawCurves(t.TempDir(), "eyes")
	require.True(t, errors.Is(err, os.ErrNotExist), err)
}

// The score on images set aside is in the log, the curves, TensorBoard's file and the table;
// run.yaml has the flags.
func TestAScoredRun(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	code, _, stderr := invoke(t.Context(), arguments(data, out, "1", "-fold", "2/4", "-patience", "3", "-clip", "1", "-accumulate", "2")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stderr, "3 images to train on, 1 set aside to score by (synthetic-pair/case0001), 1 held out")
	assert.Regexp(t, `step 1/1 .* soft Dice 0\.\d{4} \(best 0\.\d{4}\) `, stderr)
	assert.Regexp(t, `soft Dice, set aside +0\.\d{4}, best 0\.\d{4}`, stderr)
	best := filepath.Join(out, "eyes.best.safetensors")
	assert.Contains(t, stderr, "done: "+best+"\nscore it: evaluate -weights "+best+" -data "+data+"\n")
	assert.Regexp(t, `run.yaml +[\d.]+ kB`, stderr)
	assert.Regexp(t, `^{"step":1,"steps":1,"epoch":1,"side":64,"rate":[^,]+,"loss":[^,]+,"terms":{[^}]+},"soft_dice":0.[^,]+,"gradient_norm":[^,]+,"images":4,`+
		`"seconds":[^,]+,"data_seconds":[^,]+,"device_seconds":[^,]+,"time":"[^"]+Z"}\n$`, string(readFile(t, out, logName)))
	assert.Contains(t, string(readFile(t, out, curvesName)), "Soft Dice")
	assert.Contains(t, string(readFile(t, out, curvesName)), "Norm of the gradient")
	assert.Contains(t, string(readFile(t, out, configurationName)), "\nfold: \"2/4\"\n")
	events, err := filepath.Glob(filepath.Join(out, boardFolder, "*"))
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Contains(t, string(readFile(t, events[0])), "soft Dice, set aside")
	assert.Contains(t, string(readFile(t, events[0])), "gradient norm")
}

// A quoted argument can be typed into a shell.
func TestQuote(t *testing.T) {
	for argument, want := range map[string]string{"runs/mine": "runs/mine", "my runs": "'my runs'", "it's": `'it'\''s'`, "$HOME": "'$HOME'",
		"a`b": "'a`b'", "run[1]": "'run[1]'", `C:\run`: `'C:\run'`, "Läufe/1,2": "Läufe/1,2", "a\tb": "'a\tb'"} {
		assert.Equal(t, want, quote(argument))
	}
}
