// Package mrprism segments medical images that several experts have marked. It gives what program
// segment writes: masks, areas and ratios with the range of the experts, how far to trust each, and
// reasons to doubt. It is for research, and no medical device.
//
// A model is a .safetensors file, named by its path. A program that imports package weights/shipped
// has the models that ship, by name, and is 19 MB larger. A model computes on a GPU where there is
// one (environment variable MRPRISM_DEVICE), and else on the processor.
package mrprism

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"slices"
	"time"

	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/model"
	_ "mrprism/model/rivals" // weights of other methods
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

// Kinds of errors, for errors.Is. Those of files also wrap fs.ErrNotExist and its kin, those of a
// context context.Canceled or context.DeadlineExceeded.
var (
	ErrUnknownModel     = weights.ErrUnknown     // neither a file nor a shipped model of this program
	ErrNotAModel        = weights.ErrUnusable    // no whole weights file of a known kind
	ErrNotAnImage       = imageio.ErrNotImage    // none of the formats, or it lacks the slice
	ErrUnsupportedImage = imageio.ErrUnsupported // of a kind that is not read
	ErrDamagedImage     = imageio.ErrDamaged     // cut short or broken
	ErrImageTooLarge    = imageio.ErrTooLarge    // too many pixels
	ErrOption           = segment.ErrOption      // an option does not fit the model or the image
	ErrUnknownDevice    = device.ErrUnknown      // no device has this name
	ErrNoDevice         = gpu.ErrNoAdapter       // the named device is not there
	ErrOutOfMemory      = gpu.ErrOutOfMemory     // of the GPU
	ErrWrongDevice      = model.ErrWrong         // the device computes wrongly: name another
	ErrClosed           = segment.ErrClosed      // Segment after Close
)

// Model segments images. Any number of goroutines may use it: those that name one device take
// turns.
type Model struct {
	Name, Title string
	Structures  []string // in the order of Result.Structures
	Raters      []string // or levels of agreement, in the order of Structure.Raters; none: it predicts the mask alone

	weights *weights.Model
	shared  *segment.Shared
}

// request is what options ask for.
type request struct {
	device, precision string
	segment.Options
}

// Option is a wish for one Segment.
type Option func(*request)

// Device names what computes: auto, dawn, wgpu, processor or reference.
func Device(name string) Option { return func(r *request) { r.device = name } }

// Precision names the numbers to compute in: f32 (the default), f16 or int8.
func Precision(name string) Option { return func(r *request) { r.precision = name } }

// Region has the square of side pixels with its upper left corner at x, y segmented. Else the model
// searches the image.
func Region(x, y, side int) Option {
	return func(r *request) { r.ROI = fmt.Sprintf("%d,%d,%d", x, y, side) }
}

// WholeImage has the whole image segmented.
func WholeImage() Option { return func(r *request) { r.ROI = "none" } }

// Eye says which eye it is, right or left. Else the file, its name or the picture may tell.
func Eye(side string) Option { return func(r *request) { r.Options.Eye = side } }

// RaterWeights weighs raters, or panels, 0 to 1 each. Else raters count the same, and panels as the
// card says.
func RaterWeights(weights ...float32) Option {
	return func(r *request) { r.Options.RaterWeights = weights }
}

// Open reads a model: the name of a shipped one or the path of a file, or several with plus signs
// between them for the mean of their maps.
func Open(nameOrFile string) (*Model, error) {
	w, err := segment.LoadEnsemble(nameOrFile)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, name string) (gpu.Device, error) {
		return device.OpenAny(ctx, name, device.Options{})
	}
	return &Model{w.Name(), w.Label(), slices.Clone(w.Metadata.Classes), segment.Heads(&w.Metadata), w, segment.Share(w, open)}, nil
}

// Close waits for images that are being computed, and frees the devices and their memory. Results
// stay whole.
func (m *Model) Close() error {
	m.shared.Close()
	return nil
}

// Segment segments an image. The first call for a device compiles the network there. The end of ctx
// ends the computation, and the model goes on.
func (m *Model) Segment(ctx context.Context, img *Image, options ...Option) (*Result, error) {
	r := request{precision: string(model.F32), Options: segment.Options{Recurrences: segment.Trained, Name: img.name}}
	for _, option := range options {
		option(&r)
	}
	precision, err := model.ParsePrecision(r.precision)
	if err != nil {
		return nil, &segment.OptionError{Err: err}
	}
	result, err := m.shared.Segment(ctx, r.device, precision, img.picture, r.Options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(img.name, "the image"), err)
	}
	return m.result(result), nil
}

// Image is a picture to segment. Nothing changes it.
type Image struct {
	Width, Height int // pixels as displayed
	Slice, Slices int // which picture of its file it is, from 1, and how many there are

	picture *imageio.Image
	name    string
}

// ReadImage reads a PNG, JPEG, TIFF, BMP, WebP, DICOM or NIfTI: of several pages the first, and the
// middle of frames and volumes.
func ReadImage(path string) (*Image, error) {
	data, err := imageio.ReadContent(path)
	if err != nil {
		return nil, err
	}
	return DecodeImage(path, data, 0)
}

// DecodeImage is ReadImage of a file's content. The name is for messages, and may tell the eye.
// Slice chooses a page, frame or slice, which count from 1; 0 is as in ReadImage.
func DecodeImage(name string, data []byte, slice int) (*Image, error) {
	p, err := imageio.DecodeSlice(name, data, slice)
	if err != nil {
		return nil, err
	}
	return &Image{p.W, p.H, p.Slice, p.Slices, p, name}, nil
}

// NewImage takes a picture as it would be read from a PNG.
func NewImage(picture image.Image) (*Image, error) {
	var data bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&data, picture); err != nil {
		return nil, err
	}
	return DecodeImage("", data.Bytes(), 0)
}

// Result is what a model says of an image.
type Result struct {
	Width, Height int             // pixels of the image, and of all maps
	Region        image.Rectangle // the square that was segmented; maps are 0 outside of it
	Found         bool            // false: what the model searches, such as the disc, is not there
	Structures    []Structure
	Ratios        []Ratio // vertical and horizontal, of cup to disc; none without a cup
	Doubts        []Doubt // reasons not to believe the result
	Device        string  // what computed

	measurements segment.Measurements
}

// Structure is the mask of one structure, as the fused raters would draw it, and its figures.
type Structure struct {
	Map
	Name      string
	Area      int       // pixels of the mask
	Low, High int       // the smallest and the largest area among the mask and the raters' or levels' masks
	Interval  *Interval // of the area; nil: the weights know none, or not for this image
	Trust     string    // "trusted", "check" or "do not use"
	Reason    string    // a sentence; empty: trusted
	Raters    []Map     // what each of Model.Raters would mark, or at least so many experts
}

// Ratio is the extent of one structure over that of the one around it.
type Ratio struct {
	Name             string // vertical or horizontal
	Value, Low, High float64
	Interval         *Interval
	Trust, Reason    string
}

// Interval holds the figure that most experts marked in a share, Coverage, of images like those it
// was learned from.
type Interval struct {
	Low, High, Coverage float64
	By                  string // "certificate": what a person marks in new patients of the certified camera; "": the model
}

// Doubt is a reason not to believe a result.
type Doubt struct {
	Code string // for programs
	Text string // a sentence
}

// result takes over what the engine says.
func (m *Model) result(r *segment.Result) *Result {
	out := &Result{
		Width: r.Width, Height: r.Height, Region: image.Rect(0, 0, r.ROI.Side, r.ROI.Side).Add(image.Pt(r.ROI.X, r.ROI.Y)),
		Found: r.Found, Device: r.Adapter, measurements: r.Measurements,
	}
	for _, d := range r.Doubts {
		out.Doubts = append(out.Doubts, Doubt(d))
	}
	readers := masks.Readers(r.Raters, r.Classes, r.Labels, false, false)
	for c, s := range r.Measurements.Structures {
		one := Structure{Name: s.Class, Area: s.Area, Interval: (*Interval)(s.Interval), Trust: s.Trust.Word, Reason: s.Trust.Reason}
		one.Low, one.High = s.Experts()
		for _, by := range readers {
			one.Raters = append(one.Raters, Map{by.By, m.weights, &r.Maps, by, c})
		}
		one.Map, one.Raters = one.Raters[0], one.Raters[1:]
		out.Structures = append(out.Structures, one)
	}
	for i, v := range []*segment.Ratio{r.Measurements.VerticalRatio, r.Measurements.HorizontalRatio} {
		if v != nil && v.Value != nil {
			one := Ratio{Name: []string{"vertical", "horizontal"}[i], Value: *v.Value, Interval: (*Interval)(v.Interval), Trust: v.Trust.Word, Reason: v.Trust.Reason}
			one.Low, one.High = v.Experts()
			out.Ratios = append(out.Ratios, one)
		}
	}
	return out
}

// MarshalJSON has all figures, as "measurements" in the JSON of program segment.
func (r *Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.measurements) }

// WriteDICOMSEG writes the masks of all structures as a DICOM SEG that refers to the image's file,
// which has to be DICOM, and names neither patient nor study.
func (r *Result) WriteDICOMSEG(path string) error {
	var all []Map
	for _, s := range r.Structures {
		all = append(all, s.Map)
	}
	return write(path, "dicom-seg", all...)
}

// Map says how probable a structure is at each pixel.
type Map struct {
	By string // consensus, "guess of NAME", "at least 2 of 4 experts" or "as the experts of PANEL"

	weights *weights.Model
	maps    *segment.Maps
	reader  masks.Reader
	class   int
}

// Probability is the map itself (Height, Width), row by row, 0 to 1. Above one half is inside.
func (m Map) Probability() []float32 { return m.reader.Of(m.maps, m.class) }

// Grey is the map in 8 bits: 128 and more is inside.
func (m Map) Grey() (*image.Gray, error) {
	s, err := m.reader.Structure(m.maps, m.class)
	return &image.Gray{Pix: s.Levels, Stride: m.maps.Width, Rect: image.Rect(0, 0, m.maps.Width, m.maps.Height)}, err
}

// WritePNG writes Grey as a PNG: the bytes that program segment writes.
func (m Map) WritePNG(path string) error { return write(path, "png", m) }

// write writes maps by one author into a file.
func write(path, format string, all ...Map) error {
	d := masks.Drawing{Picture: &all[0].maps.Picture, By: all[0].By, Model: all[0].weights, Day: time.Now()}
	for _, m := range all {
		s, err := m.reader.Structure(m.maps, m.class)
		if err != nil {
			return err
		}
		d.Structures = append(d.Structures, s)
	}
	f, err := masks.Find(format)
	if err != nil {
		return err
	}
	data, err := f.Write(&d)
	if err != nil {
		return err
	}
	return weights.WriteFile(path, data)
}
