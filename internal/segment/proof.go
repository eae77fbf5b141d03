package segment

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"mrprism/internal/files/imageio"
	"mrprism/model"
)

// A proof is a network's output for a picture that every program can draw. It has the means of
// Rec1's maps, and of the raters' maps after it, over proofBlocks² blocks, in 1/255, in hexadecimal
// digits. Of a network that takes marks it has those of the first pass around a mark of the left
// half. The manifest has the proofs of the shipped models. The processor computed them.
const proofBlocks = 8

// Proof computes the proof. The device has then run every kernel once.
func (e *Engine) Proof(ctx context.Context) (string, error) {
	e.last = last{}
	img := proofPicture()
	if err := errors.Join(e.weigh(nil), e.feed(ctx, e.crop(img, imageio.Letterbox(img.W, img.H))), e.network.Restart()); err != nil {
		return "", err
	}
	var proof []byte
	second := e.network.Recur
	if e.network.Evidence {
		second = func(ctx context.Context) ([]float32, error) {
			if err := e.network.SetMarks(ctx, []model.Mark{e.proofMark()}); err != nil {
				return nil, err
			}
			return e.network.Settle(ctx)
		}
	}
	for i, compute := range []func(context.Context) ([]float32, error){e.network.Recur, second, e.network.RaterLabels} {
		maps, err := e.checked(ctx, compute)
		if err != nil {
			return "", err
		}
		if i > 0 {
			proof = append(proof, blocks(maps, e.about.Side)...)
		}
	}
	return hex.EncodeToString(proof), nil
}

// proofMark is somebody's mark of the left half of the picture.
func (e *Engine) proofMark() model.Mark {
	side, k := e.about.Side, len(e.about.Classes)
	m := model.Mark{Rater: model.Somebody, Said: make([]float32, side*side*k), Inside: make([]float32, side*side*k)}
	for i := range m.Said {
		m.Said[i] = 1
		if i/k%side < side/2 {
			m.Inside[i] = 1
		}
	}
	return m
}

// Prove compares the device's proof with the given one: a driver that compiles shaders wrongly may
// still give probabilities. If a value differs by more than the precision allows, the error wraps
// model.ErrWrong. Weights that do not ship have an empty proof, and Prove then only computes. The
// members of an ensemble prove theirs too.
func (e *Engine) Prove(ctx context.Context, proof string) error {
	for _, m := range e.others {
		if err := m.Prove(ctx, m.proof); err != nil {
			return err
		}
	}
	computed, err := e.Proof(ctx)
	if err != nil || proof == "" {
		return err
	}
	got, _ := hex.DecodeString(computed)
	want, err := hex.DecodeString(proof)
	if err != nil || len(want) != len(got) {
		return fmt.Errorf("the proof of %s has %d values, and its structures and raters need %d; run make weights", e.about.Name, len(want), len(got))
	}
	worst := 0.
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i]))/255)
	}
	if worst > tolerated[e.precision] {
		return fmt.Errorf("%s: %w: probabilities of the test picture differ by up to %.2f", e.device.Info(), model.ErrWrong, worst)
	}
	return nil
}

// tolerated are the largest differences. TestProofsOfShippedModels sees none in f32 and 0.04 in
// int8. The value for f16 is a guess.
var tolerated = map[model.Precision]float64{model.F32: 0.02, model.F16: 0.1, model.Int8: 0.15}

// blocks returns the means of each channel of maps (S, S, channels) over blocks, in 1/255.
func blocks(maps []float32, side int) []byte {
	channels := len(maps) / (side * side)
	sums := make([]float64, proofBlocks*proofBlocks*channels)
	each := side / proofBlocks
	for i, v := range maps {
		pixel := i / channels
		y, x := pixel/side/each, pixel%side/each
		sums[(y*proofBlocks+x)*channels+i%channels] += float64(v)
	}
	out := make([]byte, len(sums))
	for i, v := range sums {
		out[i] = byte(math.Round(255 * v / float64(each*each)))
	}
	return out
}

// proofPicture is a bright disc off the middle, with a brighter disc inside, on a ground that goes
// from dark to light. A dark line crosses it.
func proofPicture() *imageio.Image {
	const side = 128
	img := &imageio.Image{W: side, H: side, Pix: make([]uint8, 0, 3*side*side)}
	for y := range side {
		for x := range side {
			r := math.Hypot(float64(x-58), float64(y-70)*1.1)
			light := .25 + .15*float64(x)/side
			light += .3 / (1 + math.Exp((r-30)/2))
			light += .2 / (1 + math.Exp((r-14)/2))
			if d := math.Abs(float64(x-y) + 8); d < 3 {
				light *= .7
			}
			img.Pix = append(img.Pix, uint8(255*light), uint8(160*light), uint8(90*light))
		}
	}
	return img
}
