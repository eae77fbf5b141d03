package dataset

import (
	"context"
	"math"
	"slices"

	"mrprism/internal/files/imageio"
)

// Two files show the same picture if their thumbnails go up and down alike in nearly every block,
// however bright, large or compressed they are. Photographs of one camera agree in their rim and
// shading, but not in three quarters of the blocks.
const (
	thumbSide = 32 // pixels of a thumbnail
	blockSide = 4  // and of a block in it
	blocks    = thumbSide * thumbSide / blockSide / blockSide
	flat      = 0.25 // contrast of a block, by the picture's mean, below which noise decides
	fewest    = 8    // blocks that are not flat
)

// thumb is a picture's light in square cells (thumbSide, thumbSide), from 0 to 1.
type thumb []float32

func thumbOf(m *imageio.Image) thumb {
	colours, t := make([]float32, 3*thumbSide*thumbSide), make(thumb, thumbSide*thumbSide)
	m.Crop(colours, imageio.Square{Side: max(m.W, m.H)}, thumbSide)
	for i := range t {
		t[i] = (colours[3*i] + colours[3*i+1] + colours[3*i+2]) / 3
	}
	return t
}

// turned are the thumbnail's eight quarter turns and mirror images.
func (t thumb) turned() (all []thumb) {
	for _, flip := range []bool{false, true} {
		one := slices.Clone(t)
		for row := range slices.Chunk(one, thumbSide) {
			if flip {
				slices.Reverse(row)
			}
		}
		for range 4 {
			all = append(all, one)
			one = imageio.Turn(one, thumbSide, thumbSide, 1, 1)
		}
	}
	return all
}

// texture is a thumbnail block by block, each of mean 0 and length 1.
type texture struct {
	values   [blocks][blockSide * blockSide]float32
	contrast [blocks]float32 // by the mean of all blocks
}

func (t thumb) texture() *texture {
	x, all := &texture{}, float32(0)
	for b := range x.values {
		v, mean, square := &x.values[b], float32(0), float32(0)
		const across = thumbSide / blockSide
		for i := range v {
			v[i] = t[(b/across*blockSide+i/blockSide)*thumbSide+b%across*blockSide+i%blockSide]
			mean += v[i] / float32(len(v))
		}
		for i := range v {
			v[i] -= mean
			square += v[i] * v[i]
		}
		length := float32(math.Sqrt(float64(square)))
		for i := range v {
			v[i] /= length + 1e-9
		}
		x.contrast[b] = length
		all += length / blocks
	}
	for b := range x.contrast {
		x.contrast[b] /= all + 1e-9
	}
	return x
}

// likeness is the correlation that three quarters of the blocks reach, of those that are not flat in
// both pictures: 1 for the same picture, or least if it is not above that.
func (x *texture) likeness(y *texture, least float32) float32 {
	var list [blocks]float32
	n, sum := 0, float32(0)
	for b := range list {
		if max(x.contrast[b], y.contrast[b]) < flat {
			continue
		}
		for i, v := range x.values[b] {
			list[n] += v * y.values[b][i]
		}
		sum += list[n]
		n++
	}
	// A quarter correlates by −1 at least, and the others as well as the result or better.
	if n < fewest || (sum/float32(n)+.25)/.75 < least {
		return least
	}
	slices.Sort(list[:n])
	return max(list[n/4], least)
}

// pairOfCopies are two cases that show the same picture.
type pairOfCopies struct{ held, trained *caseFigures }

// nearCopies finds, for each case that is not learned from, a picture so like it among those that
// are that it is probably a copy: saved again, scaled, brighter, turned or mirrored.
func nearCopies(ctx context.Context, cases []*caseFigures, trains func(*caseFigures) bool) (pairs []pairOfCopies) {
	const (
		surely = 0.96 // likeness that different photographs of one camera do not reach
		closer = 0.25 // or a copy is so much closer to 1 than the likest pictures of the set usually are
		unlike = 0.5  // and so much closer than half of the pictures, which may all be of one shade
	)
	var taught, held []*caseFigures
	for _, c := range cases {
		if trains(c) {
			taught = append(taught, c)
		} else if c.Part == ForTest || c.Part == ForValidation {
			held = append(held, c)
		}
	}
	if len(taught) == 0 || len(held) == 0 {
		return nil
	}
	textures := make([]*texture, len(taught))
	for i, c := range taught {
		textures[i] = c.thumb.texture()
	}
	best, half, nearest := make([]float32, len(held)), make([]float32, len(held)), make([]*caseFigures, len(held))
	err := Each(ctx, len(held), nil, func(i int) error {
		best[i] = -1
		all, straight := make([]float32, len(taught)), held[i].thumb.texture()
		for j := range taught {
			all[j] = straight.likeness(textures[j], -1)
		}
		for _, turn := range held[i].thumb.turned() {
			x := turn.texture()
			for j, c := range taught {
				if like := x.likeness(textures[j], best[i]); like > best[i] && c.unit != held[i].unit {
					best[i], nearest[i] = like, c
				}
			}
		}
		slices.Sort(all)
		half[i] = all[len(all)/2]
		return nil
	})
	if err != nil {
		return nil
	}
	usual := slices.Sorted(slices.Values(best))[(len(held)-1)/2]
	for i, like := range best {
		least := max(min(surely, 1-closer*(1-usual)), 1-unlike*(1-half[i]))
		if nearest[i] != nil && like > least && nearest[i].hash != held[i].hash {
			pairs = append(pairs, pairOfCopies{held[i], nearest[i]})
		}
	}
	return pairs
}
