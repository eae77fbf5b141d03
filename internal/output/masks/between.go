package masks

import (
	"fmt"
	"image"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
)

// Between fills in the masks of a class in the slices between two others, as AddMask takes them;
// nil for a slice that has not been added. A pixel is inside where the distances to the two
// outlines, positive inside and weighted by how near the slices lie, add up to more than 0 (Raya
// and Udupa, IEEE Transactions on Medical Imaging 1990). Around it and the slice's own mask nothing
// is said.
func (s *Solid) Between(class, from, to int) (filled [][]uint8, err error) {
	if from < 0 || to >= len(s.slices) || to-from < 2 || !s.Added(from) || !s.Added(to) {
		return nil, fmt.Errorf("there is nothing between slices %d and %d", from+1, to+1)
	}
	p := s.picture(from)
	var outlines [2][]float32
	for k, i := range [2]int{from, to} {
		mask, area := s.plane(0, class, i), 0
		for at, v := range mask {
			mask[at] = v >> 7
			area += int(v >> 7)
		}
		if area == 0 {
			return nil, fmt.Errorf("slice %d has no %s, and an outline to nothing cannot be filled in", s.Series.Slices[i].Number, s.classes[class])
		}
		outlines[k] = metric.Signed(mask, p.W, float64(p.W+p.H))
	}
	for i := from + 1; i < to; i++ {
		if !s.Added(i) {
			filled = append(filled, nil)
			continue
		}
		t := float32(i-from) / float32(to-from)
		if place := s.Series.Slices; s.Series.Step > 0 {
			t = float32((place[i].Position - place[from].Position) / (place[to].Position - place[from].Position))
		}
		drawn, own, box := make([]uint8, p.W*p.H), s.plane(0, class, i), image.Rectangle{}
		pixel := func(at int) image.Rectangle { return image.Rect(at%p.W, at/p.W, at%p.W+1, at/p.W+1) }
		for at := range drawn {
			if (1-t)*outlines[0][at]+t*outlines[1][at] > 0 {
				drawn[at] = 255
			}
			if drawn[at] > 0 || own[at] >= 128 {
				box = box.Union(pixel(at))
			}
		}
		for at := range drawn {
			if !pixel(at).In(box) {
				drawn[at] = segment.Unsaid
			}
		}
		filled = append(filled, imageio.Turn(drawn, p.W, p.H, 1, s.slices[i].picture.Turn))
	}
	return filled, nil
}
