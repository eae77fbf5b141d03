package dicom

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"mrprism/internal/files/dicom/elements"
	"mrprism/shaders/pulse"
)

const (
	segmentationClass = "1.2.840.10008.5.1.4.1.1.66.4"
	explicitLittle    = "1.2.840.10008.1.2.1"
	implementation    = "2.25.225098924614142621106639015236094628109"
	maker             = "MrPrism"
)

// Segment is a structure in a frame.
type Segment struct {
	Name      string
	Levels    []uint8 // (slices, rows, columns) as the file stores them: probability × 255; 128 and more is inside
	Corrected bool    // a person corrected it
}

// Segmentation is a DICOM SEG of a frame of another file, or of the slices of a series. Unless
// Identity is set, nothing in it names the patient: an archive would find the patient by the
// source's UIDs, so they become others.
type Segmentation struct {
	Source     *Header
	Series     []*Header // of all slices in their order, the first is Source; nil: of Source alone
	Segments   []Segment // each inside the one before
	Fractional bool      // probabilities; otherwise masks of one bit
	Step       float64   // mm between the slices of a series; 0: not one number
	By         string    // "consensus", or who drew it
	Model      string    // its title
	Serial     string    // identifies the model
	Version    string
	Day        time.Time // when it was made; the time of day is not written
	Identity   bool      // copy patient, study and UIDs from the source
}

// code is a coded concept.
type code struct{ value, scheme, meaning string }

var (
	tissue     = code{"85756007", "SCT", "Tissue"}
	anatomical = code{"123037004", "SCT", "Anatomical Structure"}
)

// types are the codes of structures by name; others are tissue. Source: CID 7150, SNOMED CT.
var types = map[string]code{
	"disc": {"81016008", "SCT", "Optic disc"}, "brain": {"12738006", "SCT", "Brain"}, "cell": {"4421005", "SCT", "Cell"},
}

func (c code) item() elements.Set {
	var e elements.Set
	e.Text(0x00080100, "SH", c.value)
	e.Text(0x00080102, "SH", c.scheme)
	e.Text(0x00080104, "LO", c.meaning)
	return e
}

// secret makes the UIDs of this run. Nobody who knows a source's UID can tell which ones come of it.
var secret = rand.Text()

// uid is what the file has in place of a UID of the source. In one run, equal ones stay equal.
func (s *Segmentation) uid(of string) string {
	if s.Identity || of == "" {
		return of
	}
	hash := sha256.Sum256([]byte(secret + of))
	return uidOf([16]byte(hash[:]))
}

// Encode writes the file. Equal segmentations of one day and run give equal files, since UIDs are
// computed from the content. Source: PS3.3 A.51, C.8.20 and C.7.6.16.
func (s *Segmentation) Encode() ([]byte, error) {
	if s.Series == nil {
		s.Series = []*Header{s.Source}
	}
	for _, h := range s.Series {
		if err := h.Check(); err != nil {
			return nil, err
		}
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
	var pixels []byte
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
	sum := sha256.New()
	sum.Write(s.dataSet([3]string{}, nil))
	sum.Write(pixels)
	content := sum.Sum(nil)
	uid := func(of string) string {
		hash := sha256.Sum256(append([]byte(of), content...))
		return uidOf([16]byte(hash[:]))
	}
	uids := [3]string{uid("instance"), uid("series"), uid("dimensions")}

	var meta elements.Set
	meta.Bytes(0x00020001, "OB", []byte{0, 1})
	meta.Text(0x00020002, "UI", segmentationClass)
	meta.Text(0x00020003, "UI", uids[0])
	meta.Text(0x00020010, "UI", explicitLittle)
	meta.Text(0x00020012, "UI", implementation)
	meta.Text(0x00020013, "SH", "MRPRISM")
	out := append(make(elements.Set, 128), "DICM"...)
	out.Bytes(0x00020000, "UL", []byte{byte(len(meta)), byte(len(meta) >> 8), 0, 0})
	out = append(out, meta...)
	return append(out, s.dataSet(uids, pixels)...), nil
}

// label is a text of ours in the file's character set.
func (s *Segmentation) label(text string) string {
	if s.Identity && s.Source.characters != "ISO_IR 192" {
		text = strings.Map(func(r rune) rune {
			if r > '~' {
				return '?'
			}
			return r
		}, text)
	}
	return limited(text, 64)
}

// dataSet is the file without its head. uids are the UIDs of the instance, the series and the
// dimensions.
func (s *Segmentation) dataSet(uids [3]string, pixels []byte) elements.Set {
	h := s.Source
	var e elements.Set
	characters := "ISO_IR 192"
	if s.Identity {
		characters = h.characters
	}
	if characters != "" {
		e.Text(0x00080005, "CS", characters)
	}
	identity := func(tag uint32) {
		value := ""
		if s.Identity {
			value = h.identity[tag]
		} else if tag == 0x00100020 { // an archive must not file all strangers as one patient
			hash := sha256.Sum256([]byte(s.uid(h.study)))
			value = fmt.Sprintf("ANONYMOUS-%X", hash[:6])
		}
		e.Text(tag, identities[tag], value)
	}
	e.Text(0x00080008, "CS", "DERIVED", "PRIMARY")
	e.Text(0x00080016, "UI", segmentationClass)
	e.Text(0x00080018, "UI", uids[0])
	identity(0x00080020)
	e.Text(0x00080023, "DA", s.Day.Format("20060102"))
	identity(0x00080030)
	e.Text(0x00080033, "TM", "000000")
	identity(0x00080050)
	e.Text(0x00080060, "CS", "SEG")
	e.Text(0x00080070, "LO", maker)
	identity(0x00080090)
	e.Text(0x00081090, "LO", s.label(s.Model))
	e.Sequence(0x00081115, s.series())
	for _, tag := range []uint32{0x00100010, 0x00100020, 0x00100030, 0x00100040} {
		identity(tag)
	}
	e.Text(0x00181000, "LO", s.label(s.Serial))
	e.Text(0x00181020, "LO", s.label(s.Version))
	e.Text(0x0020000d, "UI", s.uid(h.study))
	e.Text(0x0020000e, "UI", uids[1])
	identity(0x00200010)
	e.Text(0x00200011, "IS", "900")
	e.Text(0x00200013, "IS", "1")
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
	s.image(&e)
	s.segments(&e)
	corrected := ""
	for _, one := range s.Segments {
		if one.Corrected {
			corrected = ", corrected by hand"
		}
	}
	e.Text(0x00700080, "CS", "MRPRISM")
	e.Text(0x00700081, "LO", s.label(limited(s.By, 64-len(corrected))+corrected))
	e.Text(0x00700084, "PN", "")
	s.groups(&e)
	e.Bytes(0x7fe00010, "OB", pixels)
	return e
}

// series refers to the source's series and instances.
func (s *Segmentation) series() (series elements.Set) {
	var instances []elements.Set
	before := ""
	for _, h := range s.Series {
		if h.instance == before { // a further frame
			continue
		}
		before = h.instance
		var instance elements.Set
		instance.Text(0x00081150, "UI", h.class)
		instance.Text(0x00081155, "UI", s.uid(h.instance))
		instances = append(instances, instance)
	}
	series.Sequence(0x0008114a, instances...)
	series.Text(0x0020000e, "UI", s.uid(s.Source.series))
	return series
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
	if !s.Source.lossy {
		e.Text(0x00282110, "CS", "00")
		return
	}
	e.Text(0x00282110, "CS", "01")
	if len(s.Source.ratios) > 0 {
		e.Decimals(0x00282112, s.Source.ratios...)
	}
	if s.Source.methods != "" {
		e.Text(0x00282114, "CS", s.Source.methods)
	}
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
		if known, ok := types[strings.ToLower(one.Name)]; ok {
			category, of = anatomical, known
		}
		way, about := "AUTOMATIC", s.By
		if one.Corrected {
			way, about = "SEMIAUTOMATIC", s.By+", corrected by hand"
		}
		var item elements.Set
		item.Sequence(0x00620003, category.item())
		item.Words(0x00620004, i+1)
		item.Text(0x00620005, "LO", s.label(one.Name))
		item.Text(0x00620006, "ST", s.label(about))
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
	var source, derivation, content, place, segment elements.Set
	source.Text(0x00081150, "UI", h.class)
	source.Text(0x00081155, "UI", s.uid(h.instance))
	if h.frames > 1 {
		source.Text(0x00081160, "IS", fmt.Sprint(h.frame))
	}
	source.Text(0x0028135a, "CS", "YES")
	source.Sequence(0x0040a170, code{"121322", "DCM", "Source image for image processing operation"}.item())
	derivation.Sequence(0x00082112, source)
	derivation.Sequence(0x00089215, code{"113076", "DCM", "Segmentation"}.item())
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
