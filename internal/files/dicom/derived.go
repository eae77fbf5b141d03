package dicom

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"mrprism/internal/files/dicom/elements"
)

const (
	explicitLittle = "1.2.840.10008.1.2.1"
	implementation = "2.25.225098924614142621106639015236094628109"
	maker          = "MrPrism"
)

// Derived is what every file that is made of a frame of another file has: its source and its maker.
// Unless Identity is set, nothing in it names the patient: an archive would find the patient by the
// source's UIDs, so they become others, equal ones in all files of a run.
type Derived struct {
	Source   *Header
	Series   []*Header // of all slices in their order, the first is Source; nil: of Source alone
	Model    string    // its title
	Serial   string    // identifies the model
	Version  string
	Day      time.Time // when it was made; the time of day is not written
	Identity bool      // copy patient, study and UIDs from the source
}

// form is what a file is: its SOP class UID, and the modality and the number of its series.
type form struct{ class, modality, number string }

// Code is a coded concept: scheme, value and meaning, such as "SCT 81745001 Eye".
type Code string

// Meaning is what people read.
func (c Code) Meaning() string { return strings.SplitN(string(c), " ", 3)[2] }

func (c Code) item() (e elements.Set) {
	parts := strings.SplitN(string(c), " ", 3)
	e.Text(0x00080100, "SH", parts[1])
	e.Text(0x00080102, "SH", parts[0])
	e.Text(0x00080104, "LO", parts[2])
	return e
}

// secret makes the UIDs of this run. Nobody who knows a source's UID can tell which ones come of
// it.
var secret = fmt.Sprint(rand.Uint64(), rand.Uint64())

// uid is what the file has in place of a UID of the source. In one run, equal ones stay equal.
func (d *Derived) uid(of string) string {
	if d.Identity || of == "" {
		return of
	}
	return UID(secret + of)
}

// UID is a UID that is computed from a text.
func UID(text string) string {
	hash := sha256.Sum256([]byte(text))
	return uidOf([16]byte(hash[:]))
}

// check returns an error if the source lacks what the file refers to. It fills in Series.
func (d *Derived) check() error {
	if d.Series == nil {
		d.Series = []*Header{d.Source}
	}
	for _, h := range d.Series {
		if err := h.Check(); err != nil {
			return err
		}
	}
	return nil
}

// label is a text of ours in the file's character set, of at most so many characters.
func (d *Derived) label(text string, most int) string {
	if d.Identity && d.Source.characters != "ISO_IR 192" {
		text = strings.Map(func(r rune) rune {
			if r > '~' {
				return '?'
			}
			return r
		}, text)
	}
	return limited(text, most)
}

// uids are the UIDs of an instance, of its series and of its dimensions. They are computed from the
// content: equal content of one day and run gives equal files. own appends what head has not.
func (d *Derived) uids(f form, body []byte, own func(e *elements.Set, uids [3]string, body []byte)) (uids [3]string) {
	sum := sha256.New()
	sum.Write(d.dataSet(f, uids, nil, own))
	sum.Write(body)
	content := string(sum.Sum(nil))
	return [3]string{UID("instance" + content), UID("series" + content), UID("dimensions" + content)}
}

func (d *Derived) dataSet(f form, uids [3]string, body []byte, own func(e *elements.Set, uids [3]string, body []byte)) (e elements.Set) {
	own(&e, uids, body)
	return elements.Merged(d.head(f, uids), e)
}

// file is a whole file. Source: PS3.10 7.1.
func (d *Derived) file(f form, body []byte, own func(e *elements.Set, uids [3]string, body []byte)) []byte {
	uids := d.uids(f, body, own)
	var meta elements.Set
	meta.Bytes(0x00020001, "OB", []byte{0, 1})
	meta.Text(0x00020002, "UI", f.class)
	meta.Text(0x00020003, "UI", uids[0])
	meta.Text(0x00020010, "UI", explicitLittle)
	meta.Text(0x00020012, "UI", implementation)
	meta.Text(0x00020013, "SH", "MRPRISM")
	out := append(make(elements.Set, 128), "DICM"...)
	out.Bytes(0x00020000, "UL", []byte{byte(len(meta)), byte(len(meta) >> 8), 0, 0})
	return append(append(out, meta...), d.dataSet(f, uids, body, own)...)
}

// head is the patient, the study, the series and the equipment. Source: PS3.3 C.7.1 to C.7.3, C.7.5
// and C.12.1.
func (d *Derived) head(f form, uids [3]string) elements.Set {
	h := d.Source
	var e elements.Set
	characters := "ISO_IR 192"
	if d.Identity {
		characters = h.characters
	}
	if characters != "" {
		e.Text(0x00080005, "CS", characters)
	}
	identity := func(tag uint32) {
		value := ""
		if d.Identity {
			value = h.identity[tag]
		} else if tag == 0x00100020 { // an archive must not file all strangers as one patient
			hash := sha256.Sum256([]byte(d.uid(h.study)))
			value = fmt.Sprintf("ANONYMOUS-%X", hash[:6])
		}
		e.Text(tag, identities[tag], value)
	}
	e.Text(0x00080016, "UI", f.class)
	e.Text(0x00080018, "UI", uids[0])
	identity(0x00080020)
	e.Text(0x00080023, "DA", d.Day.Format("20060102"))
	identity(0x00080030)
	e.Text(0x00080033, "TM", "000000")
	identity(0x00080050)
	e.Text(0x00080060, "CS", f.modality)
	e.Text(0x00080070, "LO", maker)
	identity(0x00080090)
	e.Text(0x00081090, "LO", d.label(d.Model, 64))
	for _, tag := range []uint32{0x00100010, 0x00100020, 0x00100030, 0x00100040} {
		identity(tag)
	}
	e.Text(0x00181000, "LO", d.label(d.Serial, 64))
	e.Text(0x00181020, "LO", d.label(d.Version, 64))
	e.Text(0x0020000d, "UI", d.uid(h.study))
	e.Text(0x0020000e, "UI", uids[1])
	identity(0x00200010)
	e.Text(0x00200011, "IS", f.number)
	e.Text(0x00200013, "IS", "1")
	return e
}

// instance refers to the source.
func (d *Derived) instance(h *Header) (e elements.Set) {
	e.Text(0x00081150, "UI", h.class)
	e.Text(0x00081155, "UI", d.uid(h.instance))
	return e
}

// frame refers to the source's frame.
func (d *Derived) frame(h *Header) elements.Set {
	e := d.instance(h)
	if h.frames > 1 {
		e.Text(0x00081160, "IS", fmt.Sprint(h.frame))
	}
	return e
}

// series refers to the source's series and instances.
func (d *Derived) series() (series elements.Set) {
	var instances []elements.Set
	before := ""
	for _, h := range d.Series {
		if h.instance == before { // a further frame
			continue
		}
		before = h.instance
		instances = append(instances, d.instance(h))
	}
	series.Sequence(0x0008114a, instances...)
	series.Text(0x0020000e, "UI", d.uid(d.Source.series))
	return series
}

// compression says whether the source's pixels are lossy.
func (h *Header) compression(e *elements.Set) {
	if !h.lossy {
		e.Text(0x00282110, "CS", "00")
		return
	}
	e.Text(0x00282110, "CS", "01")
	if len(h.ratios) > 0 {
		e.Decimals(0x00282112, h.ratios...)
	}
	if h.methods != "" {
		e.Text(0x00282114, "CS", h.methods)
	}
}
