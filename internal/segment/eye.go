package segment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
)

// The eyes.
const (
	Right = "right"
	Left  = "left"
)

// Eye is which eye a photograph shows.
type Eye struct {
	Side string `json:"side"` // Right or Left; empty: not known
	// By is what says so: "user", "dicom", "name" (of the file) or "picture" (the disc lies to the
	// nasal side of the middle). Against are others of these that say the other eye.
	By      string   `json:"by,omitempty"`
	Against []string `json:"against,omitempty"`
}

// signs are what tells the eye beside the file's header and the disc.
type signs struct {
	user    string         // Options.Eye
	name    string         // of the file
	field   imageio.Square // the lit part
	upright bool           // the disc was found in the photograph as it is
}

// CheckEye returns an error if a text is not Right, Left or empty.
func CheckEye(text string) error {
	if text != "" && text != Right && text != Left {
		return fmt.Errorf("the eye is %q: say %s or %s, or leave it out", text, Right, Left)
	}
	return nil
}

// eye is the eye by the best that is known of it: what the user said comes first.
func (r *Maps) eye(user string, calibrated reading) *Eye {
	header, _ := r.Picture.Header.(*dicom.Header)
	sides := []struct{ by, side string }{
		{"user", user}, {"dicom", header.Eye()}, {"name", EyeInName(r.eyeBy.name)}, {"picture", r.sideOfDisc(calibrated)},
	}
	out := &Eye{}
	for _, one := range sides {
		switch {
		case one.side == "":
		case out.Side == "":
			out.Side, out.By = one.side, one.by
		case one.side != out.Side:
			out.Against = append(out.Against, one.by)
		}
	}
	return out
}

// EyeInName is the eye that a file's name tells by a word: OD or OS, right or left, R or L, in
// upper or lower case. A word is letters between others; R and L have to stand alone. Without such
// a word, or with words for both eyes, it is empty.
func EyeInName(name string) (side string) {
	words := strings.FieldsFunc(imageio.Stem(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range words {
		word = strings.ToLower(word)
		parts := strings.FieldsFunc(word, unicode.IsDigit)
		for says, tokens := range map[string][]string{Right: {"od", "right"}, Left: {"os", "left"}} {
			if !slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(tokens, part) }) && word != says[:1] {
				continue
			}
			if side != "" && side != says {
				return ""
			}
			side = says
		}
	}
	return side
}

// The disc tells the eye where its middle lies at least offMiddle of the field's side to one side,
// and no farther up or down than to the side, and where the field is so wide that the disc is at
// most widestDisc of it. Fields of 45° around disc and fovea, or around the fovea, are so.
const (
	offMiddle  = 0.1
	widestDisc = 0.25
)

// sideOfDisc is the eye in whose photographs the disc lies to that side: the disc is nasal of the
// fovea, and the nose right of a right eye, as displayed. It is empty where the photograph may be
// turned, or where the disc does not tell.
func (r *Maps) sideOfDisc(calibrated reading) string {
	disc, _ := metric.DiscAndCup(r.Classes)
	if !r.eyeBy.upright || r.Picture.Turn != 0 || calibrated.sizes[disc].Area == 0 {
		return ""
	}
	size, field := calibrated.sizes[disc], float64(r.eyeBy.field.Side)
	_, x, y := r.Within()
	rim := calibrated.rim
	dx, dy := float64(x)+rim.X-float64(r.eyeBy.field.X)-field/2, float64(y)+rim.Y-float64(r.eyeBy.field.Y)-field/2
	switch {
	case float64(max(size.Width, size.Height)) > widestDisc*field, math.Abs(dx) < offMiddle*field, math.Abs(dy) > math.Abs(dx):
		return ""
	case dx > 0:
		return Right
	}
	return Left
}
