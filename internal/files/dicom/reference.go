package dicom

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"mrprism/internal/files/raster"
)

// Header is the part of a source's file that a segmentation takes over.
type Header struct {
	class, instance, study, series string // UIDs; empty: missing or invalid
	space                          string // the UID of the frame of reference; empty: none
	w, h                           int
	frame, frames                  int        // the frame's number, from 1
	slide                          bool       // the frames are tiles of one picture
	spacing                        [2]float64 // mm between rows, and between columns; 0: unknown
	thickness                      float64    // mm of a slice; a pixel's height if it is unknown
	axes                           [2][3]float64
	position                       [3]float64
	placed                         bool // axes and position are known, in space
	lossy                          bool
	ratios                         []float64 // of lossy compression
	methods                        string
	characters                     string // the file's character set
	eye                            string // see Eye
	identity                       map[uint32]string
}

// identities are the attributes of patient and study that a segmentation must have, though maybe
// empty, with their kinds.
var identities = map[uint32]string{
	0x00080020: "DA", 0x00080030: "TM", 0x00080050: "SH", 0x00080090: "PN", 0x00100010: "PN", 0x00100020: "LO",
	0x00100030: "DA", 0x00100040: "CS", 0x00200010: "SH",
}

// longestIdentity bounds a value that is copied, bytes. A name has three times 64 characters.
const longestIdentity = 1024

// reference reads the Header of the frame. It copies what it keeps.
func (f *frame) reference() *Header {
	h := &Header{
		class: f.uid(0x00080016, 0x00020002), instance: f.uid(0x00080018, 0x00020003), study: f.uid(0x0020000d), series: f.uid(0x0020000e),
		space: f.uid(0x00200052), w: f.w, h: f.h, frame: f.index + 1, frames: f.frames, characters: f.short(0x00080005, 256), identity: map[uint32]string{},
	}
	across := f.spacing()
	h.spacing = [2]float64{across[1], across[0]}
	h.thickness = h.spacing[0] // if the source does not say
	for _, tag := range []uint32{0x00180088, 0x00180050} {
		if v := f.numbers(tag, "DS"); len(v) > 0 && raster.Length(v[0]) {
			h.thickness = v[0]
		}
	}
	axes, position := f.numbers(0x00200037, "DS"), f.numbers(0x00200032, "DS")
	if len(axes) == 6 && len(position) == 3 {
		h.axes, h.position = [2][3]float64{[3]float64(axes), [3]float64(axes[3:])}, [3]float64(position)
		h.placed = h.space != "" && h.spacing[0] > 0 && h.square()
	}
	h.lossy = f.baseline() || text(f.found[0x00282110]) == "01"
	if h.lossy {
		h.ratios, h.methods = f.numbers(0x00282112, "DS"), f.short(0x00282114, 256)
		size := 0
		for _, piece := range f.pieces[min(1, len(f.pieces)):] { // without the table of offsets
			size += len(piece)
		}
		if (len(h.ratios) == 0 || h.methods == "") && f.baseline() && size > 0 {
			whole := float64(f.w) * float64(f.h) * float64(f.samples) * float64(f.frames)
			h.ratios, h.methods = []float64{max(whole/float64(size), 1)}, "ISO_10918_1"
		}
	}
	for _, tag := range []uint32{0x00200062, 0x00200060} { // of the image, of the series
		if side := map[string]string{"R": "right", "L": "left"}[text(f.found[tag])]; h.eye == "" {
			h.eye = side
		}
	}
	for tag, kind := range identities {
		value := f.short(tag, longestIdentity)
		switch kind { // in ACR-NEMA 1997.04.24 and 14:04:38
		case "DA":
			value = strings.ReplaceAll(value, ".", "")
		case "TM":
			value = strings.ReplaceAll(value, ":", "")
		}
		h.identity[tag] = value
	}
	return h
}

// Eye is which eye of a pair, or other paired part of the body, the image shows: "right", "left",
// or empty if the file does not say it (Image Laterality (0020,0062), else Laterality (0020,0060)).
func (h *Header) Eye() string {
	if h == nil {
		return ""
	}
	return h.eye
}

// Patient is the Patient ID (0010,0020); empty if the file has none.
func (h *Header) Patient() string {
	if h == nil {
		return ""
	}
	return h.identity[0x00100020]
}

// Identity is what the file says of a person and a day, as lines: its Specific Character Set
// (0008,0005), then in that set Patient's Name (0010,0010), Patient ID (0010,0020), Patient's
// Birth Date (0010,0030) and Study Date (0008,0020), each of which may be empty. Source: PS3.3
// C.7.1.1, C.7.2.1.
func (h *Header) Identity() []byte {
	lines := []string{h.characters}
	for _, tag := range []uint32{0x00100010, 0x00100020, 0x00100030, 0x00080020} {
		lines = append(lines, strings.ReplaceAll(h.identity[tag], "\n", " "))
	}
	return []byte(strings.Join(lines, "\n"))
}

// Names reads the UIDs of a file with a preamble, and of its study.
func Names(data []byte) (instance, study string, err error) {
	if len(data) < 132 || string(data[128:132]) != "DICM" {
		return "", "", errors.New("it is no DICOM file")
	}
	p, _, err := parse(data, 0)
	if err != nil {
		return "", "", err
	}
	if instance, study = p.uid(0x00080018), p.uid(0x0020000d); instance == "" || study == "" {
		return "", "", errors.New("it has no valid SOP Instance UID (0008,0018), or Study Instance UID (0020,000D)")
	}
	return instance, study, nil
}

// short is a copy of a text, or empty if the text is longer than most.
func (p *parser) short(tag uint32, most int) string {
	if v := p.found[tag]; len(v) <= most {
		return text(v)
	}
	return ""
}

// uid is the first of these UIDs that is valid.
func (p *parser) uid(tags ...uint32) string {
	for _, tag := range tags {
		v := p.short(tag, 64)
		if v != "" && strings.Trim(v, "0123456789.") == "" && v[0] != '.' && v[len(v)-1] != '.' && !strings.Contains(v, "..") {
			return v
		}
	}
	return ""
}

// square reports whether the axes have length 1 and are perpendicular, and whether the position is
// finite.
func (h *Header) square() bool {
	dot := func(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
	right, down := h.axes[0], h.axes[1]
	ok := math.Abs(dot(right, right)-1) < 1e-3 && math.Abs(dot(down, down)-1) < 1e-3 && math.Abs(dot(right, down)) < 1e-3
	for _, v := range h.position {
		ok = ok && math.Abs(v) < 1e7 // also refuses NaN
	}
	return ok
}

// Check returns an error if no segmentation can refer to the file. It names everything that is
// missing.
func (h *Header) Check() error {
	if h.slide {
		return errors.New("the image is a whole slide, of whose tiles MrPrism writes no DICOM SEG; save the masks as NIfTI or TIFF")
	}
	var lacks []string
	for _, needed := range []struct{ uid, name string }{
		{h.class, "SOP Class UID (0008,0016)"}, {h.instance, "SOP Instance UID (0008,0018)"},
		{h.study, "Study Instance UID (0020,000D)"}, {h.series, "Series Instance UID (0020,000E)"},
	} {
		if needed.uid == "" {
			lacks = append(lacks, needed.name)
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("the file has no valid %s, by which a DICOM SEG refers to it; save the masks as NIfTI or TIFF", strings.Join(lacks, ", "))
	}
	if h.w > math.MaxUint16 || h.h > math.MaxUint16 {
		return errors.New("the image is larger than DICOM allows")
	}
	return nil
}

// Place says where the frame lies in the patient, in mm: the steps from a pixel to the right, down
// and to the next slice, and the middle of the first pixel. x points to the patient's left, y to
// the back and z to the head. ok is false if the file does not say.
func (h *Header) Place() (right, down, through, origin [3]float64, ok bool) {
	r, d := h.axes[0], h.axes[1]
	through = [3]float64{r[1]*d[2] - r[2]*d[1], r[2]*d[0] - r[0]*d[2], r[0]*d[1] - r[1]*d[0]}
	for i := range 3 {
		right[i], down[i], through[i] = r[i]*h.spacing[1], d[i]*h.spacing[0], through[i]*h.thickness
	}
	return right, down, through, h.position, h.placed
}
