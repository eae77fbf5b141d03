package dicom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"mrprism/internal/files/dicom/elements"
	"mrprism/shaders/pulse"
)

// segmentationForm is a Segmentation's.
var segmentationForm = form{"1.2.840.10008.5.1.4.1.1.66.4", "SEG", "900"}

// Segment is a structure in a frame.
type Segment struct {
	Name      string
	Levels    []uint8 // (slices, rows, columns) as the file stores them: probability × 255; 128 and more is inside
	Corrected bool    // a person corrected it
}

// Segmentation is a DICOM SEG of a frame of another file, or of the slices of a series.
type Segmentation struct {
	Derived
	Segments   []Segment // each inside the one before
	Fractional bool      // probabilities; otherwise masks of one bit
	Step       float64   // mm between the slices of a series; 0: not one number
	By         string    // "consensus", or who drew it
}

const (
	tissue      Code = "SCT 85756007 Tissue"
	anatomical  Code = "SCT 123037004 Anatomical Structure"
	sourceImage Code = "DCM 121322 Source image for image processing operation"
)

// types are the codes of structures by name; others are tissue. Source: CID 7150, SNOMED CT.
var types = map[string]Code{
	"disc": "SCT 81016008 Optic disc", "brain": "SCT 12738006 Brain", "cell": "SCT 4421005 Cell",
}

// TypeOf is the code of a structure. ok is false where none is known.
func TypeOf(structure string) (c Code, ok bool) {
	c, ok = types[strings.ToLower(structure)]
	return c, ok
}

// Encode writes the file. Equal segmentations of one day and run give equal files. Source: PS3.3
// A.51, C.8.20 and C.7.6.16.
func (s *Segmentation) Encode() ([]byte, error) {
	pixels, err := s.pixels()
	if err != nil {
		return nil, err
	}
	return s.file(segmentationForm, pixels, s.own), nil
}

// UIDs are those of the file that Encode writes, of its instance and of its series.
func (s *Segmentation) UIDs() (instance, series string, err error) {
	pixels, err := s.pixels()
	if err != nil {
		return "", "", err
	}
	uids := s.uids(segmentationForm, pixels, s.own)
	return uids[0], uids[1], nil
}

// pixels are those of all frames as the file has them.
func (s *Segmentation) pixels() (pixels []byte, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var all [][]uint8
	size := 0
	for _, one := range s.Segments {
		if len(one.Levels) != len(s.Series)*s.Source.w*s.Source.h {
			return nil, errors.New("the masks have another size than the frame in the file")
		}
		pulse.Beat()
		all, size = append(all, one.Levels), size+len(one.Levels)
	}
	switch {
	case size == 0 || s.Fractional && size > longest:
		return nil, errors.New("a DICOM SEG holds 1 to 65535 segments and at most 4 GiB")
	case s.Fractional:
		for _, levels := range all {
			pixels = append(pixels, levels...)
		}
	default:
		pixels = packed(all)
	}
	pulse.Beat()
	return pixels, nil
}

// own is the file without its head. uids are the UIDs of the instance, the series and the
// dimensions.
func (s *Segmentation) own(e *elements.Set, uids [3]string, pixels []byte) {
	h := s.Source
	e.Text(0x00080008, "CS", "DERIVED", "PRIMARY")
	e.Sequence(0x00081115, s.series())
	if h.placed {
		e.Text(0x00200052, "UI", s.uid(h.space))
		e.Text(0x00201040, "LO", "")
	} else {
		e.Text(0x00200020, "CS", "")
	}
	var organization, index elements.Set
	organization.Text(0x00209164, "UI", uids[2])
	index.Text(0x00209164, "UI", uids[2])
	index.Pointer(0x00209165, 0x0062000b)
	index.Pointer(0x00209167, 0x0062000a)
	index.Text(0x00209421, "LO", "Segment")
	var places elements.Set
	places.Text(0x00209164, "UI", uids[2])
	places.Pointer(0x00209165, 0x00200032)
	places.Pointer(0x00209167, 0x00209113)
	places.Text(0x00209421, "LO", "Position")
	indices := []elements.Set{index, places}
	if len(s.Series) == 1 || !h.placed {
		indices = indices[:1]
	}
	e.Sequence(0x00209221, organization)
	e.Sequence(0x00209222, indices...)
	s.image(e)
	s.segments(e)
	corrected := ""
	for _, one := range s.Segments {
		if one.Corrected {
			corrected = ", corrected by hand"
		}
	}
	e.Text(0x00700080, "CS", "MRPRISM")
	e.Text(0x00700081, "LO", s.label(limited(s.By, 64-len(corrected))+corrected, 64))
	e.Text(0x00700084, "PN", "")
	s.groups(e)
	e.Bytes(0x7fe00010, "OB", pixels)
}

// image says what the pixels are.
func (s *Segmentation) image(e *elements.Set) {
	bits := 1
	if s.Fractional {
		bits = 8
	}
	e.Words(0x00280002, 1)
	e.Text(0x00280004, "CS", "MONOCHROME2")
	e.Text(0x00280008, "IS", fmt.Sprint(len(s.Segments)*len(s.Series)))
	e.Words(0x00280010, s.Source.h)
	e.Words(0x00280011, s.Source.w)
	e.Words(0x00280100, bits)
	e.Words(0x00280101, bits)
	e.Words(0x00280102, bits-1)
	e.Words(0x00280103, 0)
	s.Source.compression(e)
}

// segments describes the structures.
func (s *Segmentation) segments(e *elements.Set) {
	kind := "BINARY"
	if s.Fractional {
		kind = "FRACTIONAL"
	}
	e.Text(0x00620001, "CS", kind)
	var all []elements.Set
	for i, one := range s.Segments {
		category, of := tissue, tissue
		if known, ok := TypeOf(one.Name); ok {
			category, of = anatomical, known
		}
		way, about := "AUTOMATIC", s.By
		if one.Corrected {
			way, about = "SEMIAUTOMATIC", s.By+", corrected by hand"
		}
		var item elements.Set
		item.Sequence(0x00620003, category.item())
		item.Words(0x00620004, i+1)
		item.Text(0x00620005, "LO", s.label(one.Name, 64))
		item.Text(0x00620006, "ST", s.label(about, 64))
		item.Text(0x00620008, "CS", way)
		item.Text(0x00620009, "LO", maker)
		item.Sequence(0x0062000f, of.item())
		all = append(all, item)
	}
	e.Sequence(0x00620002, all...)
	if s.Fractional {
		e.Words(0x0062000e, 255)
		e.Text(0x00620010, "CS", "PROBABILITY")
	}
	overlap := "NO"
	if len(s.Segments) > 1 {
		overlap = "YES"
	}
	e.Text(0x00620013, "CS", overlap)
}

// groups describes a frame for each segment and slice: its source, its number and its place.
func (s *Segmentation) groups(e *elements.Set) {
	h := s.Source
	var shared elements.Set
	if h.placed {
		var plane elements.Set
		plane.Decimals(0x00200037, append(h.axes[0][:], h.axes[1][:]...)...)
		shared.Sequence(0x00209116, plane)
	}
	if h.spacing[0] > 0 {
		var measures elements.Set
		measures.Decimals(0x00180050, h.thickness) // which the standard requires with the spacing
		if s.Step > 0 {
			measures.Decimals(0x00180088, s.Step)
		}
		measures.Decimals(0x00280030, h.spacing[0], h.spacing[1])
		shared.Sequence(0x00289110, measures)
	}
	e.Sequence(0x52009229, shared)
	var frames []elements.Set
	for i := range s.Segments {
		for k, h := range s.Series {
			frames = append(frames, s.group(h, i, k))
		}
	}
	e.Sequence(0x52009230, frames...)
}

// group describes the frame of segment i in slice k, whose source is h.
func (s *Segmentation) group(h *Header, i, k int) (frame elements.Set) {
	var derivation, content, place, segment elements.Set
	source := s.frame(h)
	source.Text(0x0028135a, "CS", "YES")
	source.Sequence(0x0040a170, sourceImage.item())
	derivation.Sequence(0x00082112, source)
	derivation.Sequence(0x00089215, Code("DCM 113076 Segmentation").item())
	frame.Sequence(0x00089124, derivation)
	index := binary.LittleEndian.AppendUint32(nil, uint32(i+1))
	if len(s.Series) > 1 && h.placed {
		index = binary.LittleEndian.AppendUint32(index, uint32(k+1))
	}
	content.Bytes(0x00209157, "UL", index)
	frame.Sequence(0x00209111, content)
	if h.placed {
		place.Decimals(0x00200032, h.position[:]...)
		frame.Sequence(0x00209113, place)
	}
	segment.Words(0x0062000b, i+1)
	frame.Sequence(0x0062000a, segment)
	return frame
}
