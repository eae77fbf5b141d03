package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"mrprism/internal/data/importer"
	"mrprism/internal/data/instances"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/cells"
	"mrprism/weights/disk"
)

// tally says how people agree about the objects of a class in one image, or in all.
type tally struct {
	Image   string    `json:"image,omitempty"` // empty: all images that two people or more have marked
	Class   string    `json:"class"`
	Objects int       `json:"objects"` // different ones
	All     int       `json:"all"`     // found by all who marked the image,
	Some    int       `json:"some"`    // by several of them,
	One     int       `json:"one"`     // and by one
	Pairs   []*couple `json:"pairs"`
}

// couple is two people of the same images. An undefined figure is null.
type couple struct {
	A       string   `json:"a"`
	B       string   `json:"b"`
	Matched int      `json:"matched"`
	PQ      *float64 `json:"pq"`
	F1      *float64 `json:"f1"` // at an IoU of 0.5,
	Strict  *float64 `json:"f1At75"`
	Dice    *float64 `json:"dice"` // the mean of matched objects

	objects         int // of both
	strict          int
	sumIoU, sumDice float64
}

// strictly is the IoU of a match that is close.
const strictly = 0.75

// compareFields compares what people found, image by image and in all. Figures of all images are
// those of all objects together. It has nothing to say of an image that one person marked.
func (t *together) compareFields(ctx context.Context) (all []*tally, err error) {
	if t.sessions == nil {
		return nil, nil
	}
	sums := map[string]*tally{}
	for i, c := range t.data.Cases {
		crowds, err := t.sessions.Crowds(i)
		if err != nil {
			return nil, err
		}
		for _, crowd := range crowds {
			if len(crowd.Fields) < 2 {
				continue
			}
			if sums[crowd.Class] == nil {
				sums[crowd.Class] = &tally{Class: crowd.Class}
				all = append(all, sums[crowd.Class])
			}
			one := tallied(c.Name, crowd)
			sums[crowd.Class].add(one)
			all = append(all, one)
		}
		if t.turn(); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return all, nil
}

func tallied(name string, crowd *importer.Crowd) *tally {
	t := &tally{Image: name, Class: crowd.Class, Objects: len(crowd.Groups)}
	for _, g := range crowd.Groups {
		switch g.Finders() {
		case len(crowd.People):
			t.All++
		case 1:
			t.One++
		default:
			t.Some++
		}
	}
	for b := range crowd.People {
		for a := range b {
			at := func(least float64) instances.Score { return instances.Compare(crowd.Fields[a], crowd.Fields[b], least) }
			half := at(importer.Overlap)
			c := &couple{
				A: crowd.People[a], B: crowd.People[b], Matched: half.Matched, strict: at(strictly).Matched,
				objects: len(crowd.Fields[a].Objects) + len(crowd.Fields[b].Objects),
			}
			if half.Matched > 0 {
				c.sumIoU, c.sumDice = half.SQ*float64(half.Matched), half.Dice*float64(half.Matched)
			}
			c.settle()
			t.Pairs = append(t.Pairs, c)
		}
	}
	return t
}

// settle computes the figures of the sums.
func (c *couple) settle() {
	over := func(sum, n float64) *float64 {
		if n == 0 {
			sum = math.NaN()
		}
		return statistics.Defined(sum / n)
	}
	half := float64(c.objects) / 2
	c.PQ, c.F1, c.Strict = over(c.sumIoU, half), over(float64(c.Matched), half), over(float64(c.strict), half)
	c.Dice = over(c.sumDice, float64(c.Matched))
}

// add adds the objects of an image.
func (t *tally) add(one *tally) {
	t.Objects, t.All, t.Some, t.One = t.Objects+one.Objects, t.All+one.All, t.Some+one.Some, t.One+one.One
pairs:
	for _, c := range one.Pairs {
		for _, sum := range t.Pairs {
			if sum.A == c.A && sum.B == c.B {
				sum.Matched, sum.strict, sum.objects = sum.Matched+c.Matched, sum.strict+c.strict, sum.objects+c.objects
				sum.sumIoU, sum.sumDice = sum.sumIoU+c.sumIoU, sum.sumDice+c.sumDice
				sum.settle()
				continue pairs
			}
		}
		first := *c
		t.Pairs = append(t.Pairs, &first)
	}
}

// saveFields writes FOLDER/agreement/objects.csv and object-pairs.csv.
func (t *together) saveFields(all []*tally) error {
	objects := &cells.Table{Columns: []string{"image", "structure", "objects", "by_all", "by_some", "by_one"}}
	pairs := &cells.Table{Columns: []string{"image", "structure", "a", "b", "matched", "pq", "f1_50", "f1_75", "dice_matched"}}
	figure := func(v *float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%.4f", *v)
	}
	for _, one := range all {
		line := []string{one.Image, one.Class}
		for _, n := range []int{one.Objects, one.All, one.Some, one.One} {
			line = append(line, strconv.Itoa(n))
		}
		objects.Lines = append(objects.Lines, line)
		for _, c := range one.Pairs {
			pairs.Lines = append(pairs.Lines, []string{one.Image, one.Class, c.A, c.B, strconv.Itoa(c.Matched), figure(c.PQ), figure(c.F1), figure(c.Strict), figure(c.Dice)})
		}
	}
	for name, table := range map[string]*cells.Table{"objects.csv": objects, "object-pairs.csv": pairs} {
		data, err := table.Bytes()
		if err == nil {
			err = disk.WriteFile(t.in("agreement"), name, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// seam marks the pixels of an object that touch another one. They are of the object, and the page
// draws its outline along them.
const seam = 254

// outlined is a field, reduced to w × h pixels: 255 in objects, or seam.
func outlined(f *instances.Field, w, h int) []byte {
	at := func(x, y int) uint16 { return f.Labels[(2*y+1)*f.Height/(2*h)*f.Width+(2*x+1)*f.Width/(2*w)] }
	values := make([]byte, w*h)
	for i := range values {
		x, y := i%w, i/w
		n := at(x, y)
		if n == 0 {
			continue
		}
		values[i] = 255
		for _, other := range []uint16{at(min(x+1, w-1), y), at(x, min(y+1, h-1))} {
			if other > 0 && other != n {
				values[i] = seam
			}
		}
	}
	return values
}
