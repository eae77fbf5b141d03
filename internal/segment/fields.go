package segment

import (
	"context"
	"fmt"
	"image"
	"math"
	"slices"

	"mrprism/internal/data/instances"
	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/shaders/pulse"
	"mrprism/weights"
)

// FindsMany says whether a model finds the many objects of a field.
func FindsMany(m *weights.Model) bool {
	small, err := m.File.Finder()
	return err == nil && small != nil && len(small.Metadata.Classes) == 2
}

// Field finds all objects of a picture, such as the cells in a field of view. The finder marks
// objects and their cores in tiles at two scales. Then the network draws each object in a square
// around it. Two things that it draws as one are one object. No pixel belongs to two objects. Of
// the options RaterWeights and Progress count, with the stages "find" (tiles) and "outline"
// (objects). A model without a finder of many objects gives an OptionError.
func (e *Engine) Field(ctx context.Context, img *imageio.Image, o Options) (*instances.Field, error) {
	if e.finder == nil || len(e.finder.about.Classes) != 2 {
		return nil, &OptionError{fmt.Errorf("model %s marks one %s a picture, and finds no further ones", e.about.Name, e.about.Classes[0])}
	}
	q, err := e.request(img, o)
	if err != nil {
		return nil, err
	}
	found, err := e.findAll(ctx, q)
	if err != nil {
		return nil, err
	}
	field, usual := instances.New(img.W, img.H, e.about.Classes[0]), 0.
	for done := 0; done < len(found); { // a scale at a time
		things := found[done:]
		if n := slices.IndexFunc(things, func(t *thing) bool { return t.scale != things[0].scale }); n > 0 {
			things = things[:n]
		}
		drawn := slices.DeleteFunc(slices.Clone(things), func(t *thing) bool { return t.covered(field) })
		for i, t := range drawn {
			q.Progress("outline", done+i, len(found))
			if err := e.draw(ctx, q, t); err != nil {
				return nil, err
			}
		}
		done += len(things)
		if drawn, err = e.united(ctx, q, drawn); err != nil {
			return nil, err
		}
		if usual == 0 {
			usual = median(drawn, func(t *thing) float64 { return t.drawn })
		}
		drawn = slices.DeleteFunc(drawn, func(t *thing) bool { return t.claim(usual) < leastClaim })
		for _, t := range drawn {
			if _, err := t.addTo(field, drawn); err != nil {
				return nil, err
			}
		}
	}
	return field, nil
}

// Object draws one object in a square of the picture, and adds it to the field under a number, as
// instances.Field.Add takes it. It returns 0 if the network draws nothing there but what other
// objects have.
func (e *Engine) Object(ctx context.Context, img *imageio.Image, field *instances.Field, square imageio.Square, number uint16, o Options) (uint16, error) {
	q, err := e.request(img, o)
	if err != nil {
		return 0, err
	}
	t := &thing{number: number, box: image.Rect(square.X, square.Y, square.X+square.Side, square.Y+square.Side), alone: true}
	if err := e.draw(ctx, q, t); err != nil {
		return 0, err
	}
	return t.addTo(field, nil)
}

// draw lets the network draw a thing. Of its mask the connected part counts that has most of the
// thing. Beside the picture it draws nothing.
func (e *Engine) draw(ctx context.Context, q request, t *thing) error {
	side, at := int(math.Ceil(instances.Margin*float64(max(t.box.Dx(), t.box.Dy(), 8)))), t.box.Min.Add(t.box.Max).Div(2)
	if t.alone {
		side = t.box.Dx()
	}
	t.square = image.Rect(at.X-side/2, at.Y-side/2, at.X-side/2+side, at.Y-side/2+side).Intersect(image.Rect(0, 0, q.image.W, q.image.H))
	if t.square.Empty() {
		return nil
	}
	o := q.Options
	o.ROI, o.Evidence, o.Progress = "none", nil, nil
	r, err := e.Segment(ctx, q.image.Part(t.square), o)
	if err != nil {
		return err
	}
	p := r.Probability(0)
	t.on, t.disagreement, t.doubt, t.drawn = make([]bool, len(p)), make([]uint8, len(p)), r.Doubt, 0
	for i, v := range r.Disagreement(0) {
		t.disagreement[i] = uint8(255*v + 0.5)
	}
	for _, i := range t.piece(func(i int) bool { return p[i] > 0.5 }) {
		t.on[i] = true
		t.drawn++
	}
	return nil
}

// at is the pixel of the picture of index i in the square.
func (t *thing) at(i int) (x, y int) {
	return t.square.Min.X + i%t.square.Dx(), t.square.Min.Y + i/t.square.Dx()
}

// piece is the connected part of a mask in the square that has most of the thing, as indices.
func (t *thing) piece(mask func(i int) bool) (best []int) {
	most := 0
	for _, piece := range roi.Connected(t.square.Dx()*t.square.Dy(), t.square.Dx(), true, mask) {
		shared := 0
		for _, i := range piece {
			if t.alone || t.has(t.at(i)) {
				shared++
			}
		}
		if shared > most {
			most, best = shared, piece
		}
	}
	return best
}

// shared is how many pixels of another thing the network draws, or of this one.
func (t *thing) shared(o *thing) (n float64) {
	for i, on := range t.on {
		if on && o.has(t.at(i)) {
			n++
		}
	}
	return n
}

// united are drawn things of which those are one that the network takes for one: what it draws of
// one has half of the other, and what it draws of both together has more than half of each.
func (e *Engine) united(ctx context.Context, q request, things []*thing) ([]*thing, error) {
	all := slices.Clone(things)
	for i := 0; i < len(all); i++ {
		for j := 0; j < i; j++ {
			pulse.Beat()
			a, b := all[i], all[j]
			if !a.box.Overlaps(b.square) || !b.box.Overlaps(a.square) || !a.draws(b) && !b.draws(a) {
				continue
			}
			both := whole(a, b)
			if err := e.draw(ctx, q, both); err != nil {
				return nil, err
			}
			if both.draws(a) && both.draws(b) {
				all[j] = both
				all = slices.Delete(all, i, i+1)
				i, j = j-1, len(all) // again from both
			}
		}
	}
	return all, nil
}

// leastClaim is the claim of an object. It was chosen on fields of cells that the finder had
// learned from.
const leastClaim = 0.25

// claim says how far a thing is an object: the finder's probability, times the share of the smaller
// one that the finder's and the network's areas have in common, times the network's area over the
// usual one.
func (t *thing) claim(usual float64) float64 {
	return t.sure * t.shared(t) / max(1, min(t.drawn, t.area)) * t.drawn / max(1, usual)
}

// draws reports whether what the network draws of a thing has more than half of another one.
func (t *thing) draws(o *thing) bool { return t.shared(o) > o.area/2 }

// whole is the thing of two parts, not drawn.
func whole(a, b *thing) *thing {
	t, parts := &thing{scale: a.scale}, [...]*thing{a, b}
	var within image.Rectangle // pixels of the map
	for _, p := range parts {
		within = within.Union(image.Rect(0, 0, p.w, len(p.mask)/p.w).Add(p.origin))
		t.box, t.area, t.sure = t.box.Union(p.box), t.area+p.area, max(t.sure, p.sure)
	}
	t.origin, t.w, t.mask = within.Min, within.Dx(), make([]bool, within.Dx()*within.Dy())
	for _, p := range parts {
		for i, set := range p.mask {
			if set {
				t.mask[(p.origin.Y-t.origin.Y+i/p.w)*t.w+p.origin.X-t.origin.X+i%p.w] = true
			}
		}
	}
	return t
}

// addTo adds what was drawn to the field, without what the finder gives to others.
func (t *thing) addTo(field *instances.Field, others []*thing) (uint16, error) {
	if t.square.Empty() {
		return 0, nil
	}
	others = slices.DeleteFunc(slices.Clone(others), func(o *thing) bool { return o == t || !o.box.Overlaps(t.square) })
	free := func(i int) bool {
		x, y := t.at(i)
		return field.At(x, y) == 0 && !slices.ContainsFunc(others, func(o *thing) bool { return o.has(x, y) })
	}
	one := instances.Object{Number: t.number, By: instances.Model, Doubt: t.doubt}
	for i, v := range t.disagreement {
		if free(i) {
			one.Disagreement += float64(v) / 255
		}
	}
	mask := make([]uint8, len(t.on))
	for _, i := range t.piece(func(i int) bool { return t.on[i] && free(i) }) {
		mask[i] = 255
	}
	return field.Add(t.square, mask, one)
}
