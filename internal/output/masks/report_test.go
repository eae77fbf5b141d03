package masks

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/weights"
)

const across, down = 20, 16

// eyeImage is a DICOM image of pixels of 0.8 × 0.8 mm, or of an unknown size.
func eyeImage(t *testing.T, scale bool) *imageio.Image {
	t.Helper()
	texts := map[uint32]string{0x00080005: "ISO_IR 100", 0x00100010: "Doe^Jane", 0x00100020: "P77"}
	if !scale {
		texts[0x00280030] = ""
	}
	m, err := imageio.Decode("eye.dcm", dicomtest.Slice(across, down, make([]uint8, across*down), 5, texts))
	require.NoError(t, err)
	return m
}

// measured is a disc and a cup with figures, of a right eye.
func measured(t *testing.T, scale bool) *Drawing {
	t.Helper()
	d := &Drawing{Picture: eyeImage(t, scale), By: Consensus, Model: &weights.Model{SHA256: strings.Repeat("a1", 32)}, Day: time.Unix(0, 0)}
	d.Model.Metadata.Title = "Discs · größer"
	for i, name := range []string{"disc", "cup"} {
		levels := make([]uint8, across*down)
		for at := range levels {
			if x, y := at%across, at/across; x >= 4+2*i && x < 14-2*i && y >= 3+2*i && y < 13-2*i {
				levels[at] = 255
			}
		}
		d.Structures = append(d.Structures, Structure{Name: name, Levels: levels})
	}
	d.Figures = &segment.Measurements{
		Structures: []segment.Structure{
			{Class: "disc", Area: 100, Low: new(90), High: new(120), Trust: &trust.Verdict{Word: trust.Trusted}},
			{Class: "cup", Area: 36, Low: new(36), High: new(48), Trust: &trust.Verdict{Word: trust.Check, Reason: "The cup of this camera was not learned."}},
		},
		VerticalRatio:   &segment.Ratio{Inner: "cup", Outer: "disc", Value: new(0.6), Low: new(0.5), High: new(0.75), Trust: &trust.Verdict{Word: trust.Check, Reason: "Look."}},
		HorizontalRatio: &segment.Ratio{Inner: "cup", Outer: "disc", Value: new(0.625), Trust: &trust.Verdict{Word: trust.Trusted}},
	}
	if d.Figures.Eye = (&segment.Eye{Side: segment.Right, By: "dicom", Against: []string{"picture"}}); scale {
		d.Figures.Spacing = &[2]float64{0.8, 0.8}
	}
	return d
}

// tree is the content of a report, an item a line.
func tree(i *dicom.Item, depth int) (out string) {
	code := func(c dicom.Code) string { return strings.Fields(string(c))[1] }
	value := ""
	switch v := i.Value.(type) {
	case string, dicom.Template, dicom.Person:
		value = fmt.Sprint(v)
	case dicom.Number:
		value = fmt.Sprintf("%.5g %s", v.Value, code(v.Unit))
	case dicom.Code:
		value = code(v)
	case dicom.Image:
		if value = "image"; v > 0 {
			value = fmt.Sprint("segment ", v)
		}
	case dicom.Identifier:
		value = "UID"
	}
	out = strings.TrimRight(fmt.Sprintf("%s%s %s %s", strings.Repeat("  ", depth), i.Relation, code(i.Name), value), " ") + "\n"
	for _, one := range i.Items {
		out += tree(one, depth+1)
	}
	return out
}

func treeOf(t *testing.T, d *Drawing) string {
	t.Helper()
	r, err := reported(d)
	require.NoError(t, err)
	return tree(r.Root, 0)
}

// A disc of a known eye has TID 6003, and mm² where the image has a scale. Each figure has its
// range, its trust and what it was measured on.
func TestReportOfAnEye(t *testing.T) {
	const head = ` 131241 6003
  HAS CONCEPT MOD 121049 en
  HAS OBS CONTEXT 121005 121007
  HAS OBS CONTEXT 121012 UID
  HAS OBS CONTEXT 121013 MrPrism
  HAS OBS CONTEXT 121015 Discs · größer (your own weights, a1a1a1a1a1a1)
  HAS CONCEPT MOD 111001 MrPrism: Discs · größer (your own weights, a1a1a1a1a1a1)
  HAS CONCEPT MOD 111003 own-a1a1a1a1a1a1
  HAS CONCEPT MOD 111002 weights a1a1a1a1a1a1a1a1
  CONTAINS 125007 6001
    HAS CONCEPT MOD 363698007 81745001
      HAS CONCEPT MOD 272741003 24028007
    HAS OBS CONTEXT 112039 right eye
    CONTAINS 131257 0.6 {ratio}
      HAS PROPERTIES 371886008 0.15 {ratio}
      HAS PROPERTIES 371885007 0.1 {ratio}
      HAS PROPERTIES 121106 Trust: check. Look.
      INFERRED FROM 121191 segment 1
      INFERRED FROM 121191 segment 2
      INFERRED FROM 121112 image
    CONTAINS 131258 0.625 {ratio}
      HAS PROPERTIES 121106 Trust: trusted.
      INFERRED FROM 121191 segment 1
      INFERRED FROM 121191 segment 2
      INFERRED FROM 121112 image
`
	const areas = `    CONTAINS 131262 64 mm2
      HAS PROPERTIES 371886008 12.8 mm2
      HAS PROPERTIES 371885007 6.4 mm2
      HAS PROPERTIES 121106 Trust: trusted.
      INFERRED FROM 121191 segment 1
      INFERRED FROM 121112 image
    CONTAINS 131261 23.04 mm2
      HAS PROPERTIES 371886008 7.68 mm2
      HAS PROPERTIES 371885007 0 mm2
      HAS PROPERTIES 121106 Trust: check. The cup of this camera was not learned.
      INFERRED FROM 121191 segment 2
      INFERRED FROM 121112 image
`
	const tail = `  CONTAINS 121106 For research use. These figures are no diagnosis.
  CONTAINS 121106 Ranges are over the mask and those that the model predicts of its raters, and no confidence intervals.
  CONTAINS 121106 Eye: right, by dicom.
  CONTAINS 121106 Eye: the other one by picture.
`
	assert.Equal(t, head+tail, treeOf(t, measured(t, false)))
	assert.Equal(t, head+areas+tail, treeOf(t, measured(t, true)))
}

// Without a known eye, and of other structures, a report has TID 1500: a group for each structure.
func TestReportOfStructures(t *testing.T) {
	d := measured(t, false)
	d.Figures.Eye.Side = ""
	said := treeOf(t, d)
	assert.Contains(t, said, ` 126000 1500
  HAS CONCEPT MOD 121049 en
`)
	assert.Contains(t, said, `
  HAS CONCEPT MOD 121058 363679005
  CONTAINS 126010
    CONTAINS 125007 1410
      HAS OBS CONTEXT 112039 disc
      HAS OBS CONTEXT 112040 UID
      HAS CONCEPT MOD 111001 MrPrism: Discs · größer (your own weights, a1a1a1a1a1a1)
      HAS CONCEPT MOD 111003 own-a1a1a1a1a1a1
      HAS CONCEPT MOD 111002 weights a1a1a1a1a1a1a1a1
      CONTAINS 121191 segment 1
      CONTAINS 121233 image
      CONTAINS 121071 81016008
      CONTAINS 130922 100 1
        HAS PROPERTIES 371886008 20 1
        HAS PROPERTIES 371885007 10 1
        HAS PROPERTIES 121106 Trust: trusted.
    CONTAINS 125007 1410
      HAS OBS CONTEXT 112039 cup
`)
	assert.Contains(t, said, "\n    CONTAINS 125007 1501\n      HAS OBS CONTEXT 112039 Cup to disc ratio vertical\n")
	assert.Contains(t, said, "\n      CONTAINS 131257 0.6 {ratio}\n")
	for _, scale := range []bool{false, true} {
		brain := measured(t, scale)
		brain.Structures = brain.Structures[:1]
		brain.Structures[0].Name = "Brain"
		m := &segment.Measurements{Structures: brain.Figures.Structures[:1], Spacing: brain.Figures.Spacing}
		m.Structures[0].Class = "Brain"
		brain.Figures = m
		said = treeOf(t, brain)
		assert.Contains(t, said, "      CONTAINS 121071 12738006\n")
		assert.Contains(t, said, map[bool]string{false: " 130922 100 1\n", true: " 42798000 64 mm2\n"}[scale])
		assert.NotContains(t, said, "1312")
	}
}

// A figure that is not to be used is in no report, in whatever template, and a comment says why.
// Without any figure the report is one of comments.
func TestReportsLeaveOutWhatIsNotToBeUsed(t *testing.T) {
	for n := range 32 {
		for _, side := range []string{"", segment.Left} {
			d := measured(t, n%2 == 0)
			d.Figures.Eye.Side = side
			verdicts := map[string]*trust.Verdict{
				"131257": d.Figures.VerticalRatio.Trust, "131258": d.Figures.HorizontalRatio.Trust,
				"disc": d.Figures.Structures[0].Trust, "cup": d.Figures.Structures[1].Trust,
			}
			withheld := 0
			for i, name := range []string{"131257", "131258", "disc", "cup"} {
				if n>>(i+1)&1 == 1 {
					*verdicts[name] = trust.Verdict{Word: trust.DoNotUse, Reason: "Reason " + name + "."}
					withheld++
				}
			}
			said := treeOf(t, d)
			keys := map[string][]string{"disc": {" 131262 ", " 64 mm2", " 100 1\n"}, "cup": {" 131261 ", " 23.04 mm2", " 36 1\n"}, "131257": {" 131257 "}, "131258": {" 131258 "}}
			for name, v := range verdicts {
				doubted := v.Word == trust.DoNotUse
				assert.Equal(t, doubted, strings.Contains(said, "Reason "+name+"."), said)
				for _, figure := range keys[name] {
					if doubted {
						assert.NotContains(t, said, figure)
					}
				}
				if !doubted && len(name) == 6 {
					assert.Contains(t, said, keys[name][0])
				}
			}
			if withheld == 4 {
				assert.NotContains(t, said, "125007")
				assert.NotContains(t, said, "INFERRED FROM")
				assert.Contains(t, said, " 126000 1500\n")
			}
			data, err := report(d)
			require.NoError(t, err)
			require.NotEmpty(t, data)
		}
	}
	d := measured(t, true)
	d.Doubts = []segment.Doubt{{Code: trust.Unfamiliar, Text: "This picture is strange."}}
	assert.Contains(t, treeOf(t, d), "  CONTAINS 121106 Doubt: This picture is strange.\n")
	d.Figures.VerticalRatio.Certified = &segment.Certified{Camera: "Topcon", Date: "2026-11-01", Eyes: 12}
	assert.Contains(t, treeOf(t, d), " Trust: check. Look. Certified on Topcon, 2026-11-01, 12 eyes.\n")
	d.Figures.Structures[0].Area, d.Figures.VerticalRatio.Value = 0, nil
	assert.NotContains(t, treeOf(t, d), "131262")
	assert.NotContains(t, treeOf(t, d), "131257")
	d.Figures = nil
	_, err := report(d)
	assert.ErrorContains(t, err, "save the masks as a DICOM SEG")
}

// A person is an observer if they corrected or accepted the masks. What they corrected has no
// range.
func TestReportsOfCorrectedMasks(t *testing.T) {
	const person = "  HAS OBS CONTEXT 121005 121006\n  HAS OBS CONTEXT 121008 Unnamed^Person\n"
	d := measured(t, true)
	assert.NotContains(t, treeOf(t, d), person)
	d.Person = "Doe^Jane"
	assert.Contains(t, treeOf(t, d), strings.Replace(person, "Unnamed^Person", "Doe^Jane", 1))
	d.Person, d.Structures[1].Corrected = "", true
	d.Figures.Structures[1] = segment.Structure{Class: "cup", Area: 40}
	d.Figures.VerticalRatio = &segment.Ratio{Inner: "cup", Outer: "disc", Value: new(0.7), Trust: d.Figures.Structures[0].Trust}
	said := treeOf(t, d)
	assert.Contains(t, said, person)
	assert.Contains(t, said, "    CONTAINS 131261 25.6 mm2\n      HAS PROPERTIES 121106 Corrected by hand.\n")
	assert.Contains(t, said, "    CONTAINS 131257 0.7 {ratio}\n      HAS PROPERTIES 121106 Trust: trusted.\n")
}

// formatted writes a drawing in a format.
func formatted(t *testing.T, d *Drawing, name string) []byte {
	t.Helper()
	f, err := Find(name)
	require.NoError(t, err)
	data, err := f.Write(d)
	require.NoError(t, err)
	return data
}

// needs finds a program, or skips the test.
func needs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(name + " is not installed")
		}
	}
}

const python = "/usr/bin/python3" // Debian's, which finds python3-pydicom

// reader prints with pydicom what reports say, as tree does. Each comes with the file of its DICOM
// SEG, to which it must refer.
const reader = `
import sys, pydicom
def walk(i, depth):
    name = i.ConceptNameCodeSequence[0].CodeValue
    kind = i.ValueType
    value = ""
    if kind == "CONTAINER":
        value = i.ContentTemplateSequence[0].TemplateIdentifier if "ContentTemplateSequence" in i else ""
    elif kind == "TEXT":
        value = i.TextValue
    elif kind == "CODE":
        value = i.ConceptCodeSequence[0].CodeValue
    elif kind == "NUM":
        value = "%.5g %s" % (i.MeasuredValueSequence[0].NumericValue, i.MeasuredValueSequence[0].MeasurementUnitsCodeSequence[0].CodeValue)
    elif kind == "IMAGE":
        to = i.ReferencedSOPSequence[0]
        value = "segment %d" % to.ReferencedSegmentNumber if "ReferencedSegmentNumber" in to else "image"
        assert to.ReferencedSOPInstanceUID == (seg.SOPInstanceUID if value != "image" else source), to
    elif kind == "UIDREF":
        assert pydicom.uid.UID(i.UID).is_valid
        value = "UID"
    elif kind == "PNAME":
        value = str(i.PersonName)
    print((depth * "  " + i.get("RelationshipType", "") + " " + name + " " + value).rstrip())
    for below in i.get("ContentSequence", []):
        walk(below, depth + 1)
for at in range(1, len(sys.argv), 2):
    report, seg = (pydicom.dcmread(name) for name in sys.argv[at:at + 2])
    study, = report.CurrentRequestedProcedureEvidenceSequence
    images, masks = study.ReferencedSeriesSequence
    source = images.ReferencedSOPSequence[0].ReferencedSOPInstanceUID
    assert masks.ReferencedSOPSequence[0].ReferencedSOPInstanceUID == seg.SOPInstanceUID
    assert masks.SeriesInstanceUID == seg.SeriesInstanceUID != report.SeriesInstanceUID
    assert source == seg.PerFrameFunctionalGroupsSequence[0].DerivationImageSequence[0].SourceImageSequence[0].ReferencedSOPInstanceUID
    for name in "StudyInstanceUID", "PatientID", "PatientName", "StudyDate":
        assert report[name] == seg[name], name
    assert report.StudyInstanceUID == study.StudyInstanceUID
    assert (report.CompletionFlag, report.VerificationFlag, report.Modality) == ("COMPLETE", "UNVERIFIED", "SR")
    walk(report, 0)
    print("==")
`

// pydicom reads what was written, dcmtk reads it without a warning, and dciodvfy finds no error.
// Identity is kept if asked for; equal content gives equal files.
func TestOthersReadReports(t *testing.T) {
	needs(t, "dciodvfy", "dsrdump", "dsr2html", "dcmdump")
	if exec.Command(python, "-c", "import pydicom").Run() != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "python3-pydicom is missing: make setup")
		t.Skip("python3-pydicom is missing")
	}
	said, args, trees, dir := map[string]int{}, []string{"-c", reader}, "", t.TempDir()
	for n := range 16 {
		d := measured(t, n&1 == 0)
		d.Identity, d.Person = n&2 > 0, strings.Repeat("A", n&8)
		if n&4 > 0 {
			d.Figures.Eye.Side = ""
		}
		if n&12 == 12 {
			d.Figures.VerticalRatio.Trust.Word, d.Figures.HorizontalRatio.Trust.Word = trust.DoNotUse, trust.DoNotUse
			d.Figures.Structures[0].Trust.Word, d.Figures.Structures[1].Trust.Word = trust.DoNotUse, trust.DoNotUse
		}
		path, seg := filepath.Join(dir, fmt.Sprint(n, "sr.dcm")), filepath.Join(dir, fmt.Sprint(n, "seg.dcm"))
		data := formatted(t, d, "dicom-sr")
		require.True(t, bytes.Equal(data, formatted(t, d, "dicom-sr")), "deterministic")
		require.NoError(t, os.WriteFile(path, data, 0o666))
		require.NoError(t, os.WriteFile(seg, formatted(t, d, "dicom-seg"), 0o666))
		for _, secret := range []string{"Doe^Jane", "P77", "1.2.3.2", "1.2.3.3", "1.2.3.1.1050"} {
			assert.Equal(t, d.Identity, bytes.Contains(data, []byte(secret)), secret)
		}
		want := treeOf(t, d)
		if d.Identity { // in the character set of the source, Latin-1
			want = strings.NewReplacer("·", "?", "ö", "?", "ß", "?").Replace(want)
		}
		args, trees = append(args, path, seg), trees+want+"==\n"
		for _, program := range []string{"dciodvfy", "dsrdump", "dsr2html", "dcmdump"} {
			out, err := exec.Command(program, path).CombinedOutput()
			require.NoError(t, err, "%s", out)
			for line := range strings.Lines(string(out)) {
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "Warning") {
					said[line]++
				}
				// dcmtk 3.6.7 checks no texts in UTF-8.
				known := strings.HasPrefix(line, "W: The VR checker does not support this Specific Character Set: ISO_IR 192")
				if strings.HasPrefix(line, "Error") || !known && (strings.HasPrefix(line, "W: ") || strings.HasPrefix(line, "E: ") || strings.HasPrefix(line, "F: ")) {
					assert.Fail(t, program, line)
				}
			}
			if program == "dsr2html" && n == 0 {
				assert.Contains(t, string(out), "Cup to disc ratio vertical")
			}
		}
		d.Doubts = []segment.Doubt{{Text: "Strange."}}
		require.False(t, bytes.Equal(data, formatted(t, d, "dicom-sr")))
	}
	got, err := exec.Command(python, args...).CombinedOutput()
	require.NoError(t, err, "%s", got)
	assert.Equal(t, trees, string(got))
	for line, count := range said {
		assert.Contains(t, line, "needed to build DICOMDIR", "the source lacks date and time of the study")
		t.Log(count, line)
	}
}
