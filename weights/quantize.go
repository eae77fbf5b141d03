package weights

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"mrprism/shaders/half"
)

// Int8PerChannel names the quantization w ≈ scale[o]·q. q is in −127..127, and each output
// channel o (the last axis) has one scale, max|w|/127. The tensor keeps its name and has element
// type I8. Its scales are the tensor NAME.scale, F32 of shape [channels].
const Int8PerChannel = "int8-per-channel"

// ScaleSuffix is appended to a quantized tensor's name for its scales.
const ScaleSuffix = ".scale"

// quantizedElements is the least size of a weight that is quantized or halved. Smaller ones (heads,
// biases, norms) would save next to nothing.
const quantizedElements = 1024

// heavy says whether the tensor is NAME.weight, of rank 2 or more, with quantizedElements or more.
func (t *Tensor) heavy() bool {
	return len(t.Shape) >= 2 && t.Elements() >= quantizedElements && strings.HasSuffix(t.Name, ".weight")
}

// convert returns f with its heavy weights replaced by the results of convert, and all other
// tensors as F32. It refuses quantized files and values that are not finite.
func (f *File) convert(convert func(t *Tensor, values []float32) ([]Tensor, error)) (*File, error) {
	if q := f.Metadata["quantization"]; q != "" {
		return nil, fmt.Errorf("weights: already quantized (%s); take the file it was made from", q)
	}
	out := &File{Metadata: maps.Clone(f.Metadata)}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		values, err := t.Float32()
		if err != nil {
			return nil, err
		}
		converted := []Tensor{NewF32(t.Name, t.Shape, values)}
		if t.heavy() {
			if converted, err = convert(t, values); err != nil {
				return nil, err
			}
		}
		out.Tensors = append(out.Tensors, converted...)
	}
	return out, nil
}

// Halve returns f with its heavy weights as F16, rounded to the nearest, and all other tensors as
// F32. It refuses values beyond ±65504 and values that are not finite.
func Halve(f *File) (*File, error) {
	return f.convert(func(t *Tensor, values []float32) ([]Tensor, error) {
		halves := Tensor{Name: t.Name, DType: F16, Shape: slices.Clone(t.Shape)}
		for j, v := range values {
			bits := half.FromFloat32(v)
			if h := half.ToFloat32(bits); h-h != 0 {
				return nil, fmt.Errorf("weights: tensor %s: element %d is %v, more than the %d that f16 can hold", t.Name, j, v, half.Most)
			}
			halves.Data = le.AppendUint16(halves.Data, bits)
		}
		return []Tensor{halves}, nil
	})
}

// Quantize returns f with its heavy weights as int8 per output channel, and all other tensors as
// F32. The metadata name the quantization. It refuses values that are not finite.
func Quantize(f *File) (*File, error) {
	out, err := f.convert(func(t *Tensor, values []float32) ([]Tensor, error) {
		quantized, scales := quantizeChannels(values, t.Shape[len(t.Shape)-1])
		return []Tensor{
			{Name: t.Name, DType: I8, Shape: slices.Clone(t.Shape), Data: quantized},
			NewF32(t.Name+ScaleSuffix, []int{len(scales)}, scales),
		}, nil
	})
	if err != nil {
		return nil, err
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	out.Metadata["quantization"] = Int8PerChannel
	return out, nil
}

// quantizeChannels rounds values (…, channels) to q·scale[channel]. A channel of zeros has scale
// 1.
func quantizeChannels(values []float32, channels int) (q []byte, scales []float32) {
	scales = make([]float32, channels)
	for i, v := range values {
		c := i % channels
		scales[c] = max(scales[c], float32(math.Abs(float64(v))))
	}
	for c, largest := range scales {
		if scales[c] = largest / 127; scales[c] == 0 {
			scales[c] = 1
		}
	}
	q = make([]byte, len(values))
	for i, v := range values {
		n := math.RoundToEven(float64(v) / float64(scales[i%channels]))
		q[i] = byte(int8(max(-127, min(127, n))))
	}
	return q, scales
}

// Dequantize returns f with every tensor as F32 under its own name. It multiplies int8 weights by
// their scales, drops the scales and clears the quantization in the metadata. It refuses values
// that are not finite.
func Dequantize(f *File) (*File, error) {
	out := &File{Metadata: maps.Clone(f.Metadata)}
	scheme := f.Metadata["quantization"]
	if scheme != "" && scheme != Int8PerChannel {
		return nil, fmt.Errorf("weights: quantization %q is not known to this version, %q is", scheme, Int8PerChannel)
	}
	if scheme != "" {
		out.Metadata["quantization"] = ""
	}
	byName := f.index()
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if scheme != "" && quantizedBy(byName, t.Name) != nil {
			continue // the scales of another tensor
		}
		values, err := t.Float32()
		if err != nil {
			return nil, err
		}
		if scheme != "" && t.DType == I8 {
			scales, err := channelScales(byName, t)
			if err != nil {
				return nil, err
			}
			for j := range values {
				values[j] *= scales[j%len(scales)]
			}
		}
		out.Tensors = append(out.Tensors, NewF32(t.Name, t.Shape, values))
	}
	return out, nil
}

// Scales returns the scales of a quantized tensor: one for each output channel, finite and
// positive.
func (f *File) Scales(name string) ([]float32, error) {
	byName := f.index()
	t := byName[name]
	if t == nil {
		return nil, fmt.Errorf("weights: there is no tensor %s", name)
	}
	return channelScales(byName, t)
}

func channelScales(byName map[string]*Tensor, t *Tensor) ([]float32, error) {
	s := byName[t.Name+ScaleSuffix]
	if s == nil {
		return nil, fmt.Errorf("weights: tensor %s is int8 and has no %s", t.Name, t.Name+ScaleSuffix)
	}
	if len(t.Shape) == 0 || len(s.Shape) != 1 || s.Shape[0] != t.Shape[len(t.Shape)-1] || s.DType != F32 {
		return nil, fmt.Errorf("weights: tensor %s is %s %v, expected F32 with one scale for each output channel of %v", s.Name, s.DType, s.Shape, t.Shape)
	}
	scales, err := s.Float32()
	if err != nil {
		return nil, err
	}
	for i, v := range scales {
		if v <= 0 || v > math.MaxFloat32/128 {
			return nil, fmt.Errorf("weights: tensor %s: scale %d is %v, expected a positive number that stays finite times 128", s.Name, i, v)
		}
	}
	return scales, nil
}

// quantizedBy returns the int8 tensor whose scales are named name, or nil.
func quantizedBy(byName map[string]*Tensor, name string) *Tensor {
	stem, isScale := strings.CutSuffix(name, ScaleSuffix)
	if t := byName[stem]; isScale && t != nil && t.DType == I8 {
		return t
	}
	return nil
}

func (f *File) index() map[string]*Tensor {
	byName := make(map[string]*Tensor, len(f.Tensors))
	for i := range f.Tensors {
		byName[f.Tensors[i].Name] = &f.Tensors[i]
	}
	return byName
}
