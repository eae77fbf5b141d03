package importer

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/instances"
	"mrprism/internal/files/imageio"
	"mrprism/weights"
)

// Data sets of the objects that people marked: Crops has an image around each object, Fields the
// whole images with the fused objects, as "train synthetic fields" writes them.
const (
	Crops  = "crops"
	Fields = "fields"
)

// Overlap is the IoU from which objects of two people are the same.
const Overlap = 0.5

// fused is the rater of a data set of Fields.
const fused = "majority"

// field is all objects of an image, as a session has them.
type field struct {
	Class, File string
	Changed     bool // by the person
	Objects     []instances.Object
}

// objects says whether the objects of a reading count as its mask of a class.
func (r *work) objects(class string) bool {
	f := r.Field
	return f != nil && f.Class == class && r.Review != "rejected" && (f.Changed || r.Review == "accepted")
}

// origin says why a person's mask of a class counts: it was drawn on, objects of it were changed,
// or its image was accepted. It is empty for one that does not count.
func (r *work) origin(class string) string {
	switch {
	case r.Review == "rejected":
		return ""
	case r.objects(class):
		if r.Field.Changed {
			return "drawn"
		}
		return "accepted"
	case slices.ContainsFunc(r.Drawn, func(f file) bool {
		return f.Class == class && f.Rater == you && (!f.Filled || r.Review == "accepted")
	}):
		return "drawn"
	case r.Review == "accepted":
		return "accepted"
	}
	return ""
}

// union is the mask of all objects in an image of w × h pixels.
func (r *work) union(w, h int) (*drawing, error) {
	data, err := r.session.entry(r.Field.File, maxMaskEntry)
	if err != nil {
		return nil, err
	}
	labels, err := instances.ReadLabels(data, w, h)
	if err != nil {
		return nil, err
	}
	all := &grey{w: w, h: h, values: make([]uint8, w*h)}
	for i, n := range labels {
		if n > 0 {
			all.values[i] = 255
		}
	}
	return all.threshold(), nil
}

// Crowd is the objects of one class that several people marked in an image.
type Crowd struct {
	Class  string             // as a data set has it
	People []string           // raters
	Fields []*instances.Field // theirs, of the image's size

	Fused  *instances.Field   // as instances.Consensus makes it
	Groups []*instances.Group // by People
}

// crowd reads the objects of a class, by its number, in an image of w × h pixels; nil: nobody's
// count. Second readings do not.
func (g *graded) crowd(k, w, h int, raters []string) (c *Crowd, left []Skip, err error) {
	c = &Crowd{Class: asName(g.structures[k])}
	for _, rater := range raters {
		r := g.by[rater]
		if r == nil || !r.objects(g.structures[k]) || dataset.IsSecond(rater, raters) {
			continue
		}
		data, err := r.session.entry(r.Field.File, maxMaskEntry)
		var f *instances.Field
		if err == nil {
			f, err = instances.ReadPNG(data, w, h, c.Class)
		}
		if err != nil {
			left = append(left, Skip{fmt.Sprintf("%s, %s", r.session.path, r.Image.Name), fmt.Sprintf("%s: %v", c.Class, err)})
			continue
		}
		f.Describe(r.Field.Objects)
		c.People, c.Fields = append(c.People, rater), append(c.Fields, f)
	}
	if len(c.Fields) == 0 {
		return nil, left, nil
	}
	c.Fused, c.Groups, err = instances.Consensus(c.Fields, Overlap)
	return c, left, err
}

// ofObjects makes the listing one of objects: those of the first class of which somebody's count.
func (l *listing) ofObjects(kind string, images []*graded) {
	count := func(k int) func(g *graded) bool {
		return func(g *graded) bool {
			return slices.ContainsFunc(l.raters, func(rater string) bool { return g.by[rater] != nil && g.by[rater].objects(l.structures[k]) })
		}
	}
	for k := range l.structures {
		if !slices.ContainsFunc(images, count(k)) {
			continue
		}
		raters, several := slices.Clone(l.raters), len(images) >= dataset.HoldOut
		for _, g := range slices.DeleteFunc(images, func(g *graded) bool { return !count(k)(g) }) {
			l.jobs = append(l.jobs, job{name: g.name, read: func() ([]picture, []Skip) { return g.readObjects(kind, k, raters, several) }})
		}
		if l.classes = l.classes[k : k+1]; kind == Fields {
			l.classes, l.raters = []string{l.classes[0], weights.Core}, []string{fused}
		}
		return
	}
}

// readObjects reads the image, and makes a picture around each object or of all. Crops of an image
// form a group if there are several images: of one alone nothing could be held out.
func (g *graded) readObjects(kind string, k int, raters []string, several bool) ([]picture, []Skip) {
	data, from, err := g.image()
	var img *imageio.Image
	if err == nil {
		img, err = imageio.DecodeSlice(from, data, g.slice)
	}
	if err != nil {
		return nil, []Skip{{g.name, err.Error()}}
	}
	c, left, err := g.crowd(k, img.W, img.H, raters)
	if err == nil && c == nil {
		err = errors.New("nobody's objects of it could be read")
	}
	if err != nil {
		return nil, append(left, Skip{g.name, err.Error()})
	}
	if kind == Fields {
		return []picture{{name: g.name, file: from, image: img, masks: [][][]uint8{c.fusedMasks()}}}, left
	}
	var all []picture
	for _, group := range c.Groups {
		if group.Number == 0 {
			continue
		}
		p := c.crop(img, group, raters)
		if p.name, p.file = fmt.Sprintf("%s-%04d", g.name, group.Number), from; several {
			p.group = "file-" + g.sum[:8]
		}
		for m, masks := range p.masks {
			if work := g.by[raters[m]]; masks[0] != nil {
				p.origins = append(p.origins, []string{p.name, raters[m], c.Class, work.origin(g.structures[k]), work.moment()})
			}
		}
		all = append(all, p)
	}
	return all, left
}

// crop is the image around a fused object, with the masks of those who marked it; those of others
// are missing. It ends at the image's border.
func (c *Crowd) crop(img *imageio.Image, group *instances.Group, raters []string) (p picture) {
	box := c.Fused.Find(group.Number).Box
	side := int(math.Ceil(instances.Margin * float64(max(box.Dx(), box.Dy()))))
	corner := box.Min.Add(box.Max).Sub(image.Pt(side, side)).Div(2)
	at := image.Rectangle{Min: corner, Max: corner.Add(image.Pt(side, side))}.Intersect(image.Rect(0, 0, img.W, img.H))
	p.image = img.Part(at)
	for _, rater := range raters {
		var mask []uint8
		if i := slices.Index(c.People, rater); i >= 0 && group.Of[i] > 0 {
			mask = c.Fields[i].Mask(group.Of[i], at)
			for j, v := range mask {
				mask[j] = v & 1
			}
		}
		p.masks = append(p.masks, [][]uint8{mask})
	}
	return p
}

// fusedMasks are the fused objects, and their cores.
func (c *Crowd) fusedMasks() [][]uint8 {
	f := c.Fused
	union, cores := make([]uint8, len(f.Labels)), make([]uint8, len(f.Labels))
	for i, n := range f.Labels {
		union[i] = uint8(min(1, n))
	}
	for _, o := range f.Objects {
		at := o.Box.Inset(-1)
		mask := f.Mask(o.Number, at)
		for i, v := range mask {
			mask[i] = v & 1
		}
		for _, i := range instances.Core(mask, at.Dx()) {
			cores[(at.Min.Y+i/at.Dx())*f.Width+at.Min.X+i%at.Dx()] = 1
		}
	}
	return [][]uint8{union, cores}
}

// Crowds are the objects that people marked in a case's image, by class, where somebody's count.
func (s *Sessions) Crowds(i int) (all []*Crowd, err error) {
	g := s.images[i]
	for k := range g.structures {
		if !slices.ContainsFunc(g.raters, func(rater string) bool { return g.by[rater] != nil && g.by[rater].objects(g.structures[k]) }) {
			continue
		}
		data, from, err := g.image()
		var about *imageio.Info
		if err == nil {
			about, err = imageio.HeaderSlice(from, data, g.slice)
		}
		if err != nil {
			return nil, err
		}
		c, left, err := g.crowd(k, about.W, about.H, g.raters)
		s.skip(left...)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	return all, nil
}
