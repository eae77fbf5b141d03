// Package numpy reads arrays that NumPy's save wrote.
//
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3.
package numpy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mrprism/shaders/half"
)

// Array is an array of numbers. Values are in C order: the last axis varies fastest.
type Array struct {
	Shape  []int
	Values []float32
	Full   float64 // the largest value of unsigned integers of 8 or 16 bits; 0 for others
}

const magic = "\x93NUMPY"

// types has the types of values, by the descriptor without its byte order. full is as in Array.
var types = map[string]struct {
	size int
	full float64
	read func(order binary.ByteOrder, b []byte) float32
}{
	"b1": {1, 1, func(_ binary.ByteOrder, b []byte) float32 { return float32(b[0]) }},
	"u1": {1, math.MaxUint8, func(_ binary.ByteOrder, b []byte) float32 { return float32(b[0]) }},
	"u2": {2, math.MaxUint16, func(order binary.ByteOrder, b []byte) float32 { return float32(order.Uint16(b)) }},
	"u4": {4, 0, func(order binary.ByteOrder, b []byte) float32 { return float32(order.Uint32(b)) }},
	"u8": {8, 0, func(order binary.ByteOrder, b []byte) float32 { return float32(order.Uint64(b)) }},
	"i1": {1, 0, func(_ binary.ByteOrder, b []byte) float32 { return float32(int8(b[0])) }},
	"i2": {2, 0, func(order binary.ByteOrder, b []byte) float32 { return float32(int16(order.Uint16(b))) }},
	"i4": {4, 0, func(order binary.ByteOrder, b []byte) float32 { return float32(int32(order.Uint32(b))) }},
	"i8": {8, 0, func(order binary.ByteOrder, b []byte) float32 { return float32(int64(order.Uint64(b))) }},
	"f2": {2, 0, func(order binary.ByteOrder, b []byte) float32 { return half.ToFloat32(order.Uint16(b)) }},
	"f4": {4, 0, func(order binary.ByteOrder, b []byte) float32 { return math.Float32frombits(order.Uint32(b)) }},
	"f8": {8, 0, func(order binary.ByteOrder, b []byte) float32 {
		return float32(math.Float64frombits(order.Uint64(b)))
	}},
}

var fields = map[string]*regexp.Regexp{
	"descr":         regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([<>|=]?)(\w+)['"]`),
	"fortran_order": regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`),
	"shape":         regexp.MustCompile(`['"]shape['"]\s*:\s*\(([\d\s,]*)\)`),
}

// Read reads an array of floats, integers or bool, in C or Fortran order. most is the
// largest number of values.
func Read(data []byte, most int) (*Array, error) {
	text, values, err := split(data)
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for name, pattern := range fields {
		if found[name] = pattern.FindStringSubmatch(text); found[name] == nil {
			return nil, fmt.Errorf("its header has no plain %s; save one array of numbers with numpy.save", name)
		}
	}
	descriptor := found["descr"]
	kind, known := types[descriptor[2]]
	if !known {
		return nil, fmt.Errorf("its values are of the type %s; save floats, integers or bool", descriptor[2])
	}
	shape, count, err := parseShape(found["shape"][1], most)
	switch {
	case err != nil:
		return nil, err
	case len(values) < count*kind.size:
		return nil, errors.New("the file is cut short")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if descriptor[1] == ">" {
		order = binary.BigEndian
	}
	a := &Array{Shape: shape, Values: make([]float32, count), Full: kind.full}
	for i := range a.Values {
		a.Values[i] = kind.read(order, values[i*kind.size:])
	}
	if found["fortran_order"][1] == "True" {
		a.transpose()
	}
	return a, nil
}

// split separates the header's text from the values.
func split(data []byte) (header string, values []byte, err error) {
	if !strings.HasPrefix(string(data[:min(len(data), len(magic))]), magic) || len(data) < 12 {
		return "", nil, errors.New("this is no .npy file")
	}
	start, length := 10, int(binary.LittleEndian.Uint16(data[8:]))
	switch data[6] {
	case 1:
	case 2, 3:
		start, length = 12, int(binary.LittleEndian.Uint32(data[8:]))
	default:
		return "", nil, fmt.Errorf("it is of version %d of .npy; 1 to 3 are read", data[6])
	}
	if length > len(data)-start {
		return "", nil, errors.New("the file is cut short")
	}
	return string(data[start : start+length]), data[start+length:], nil
}

func parseShape(text string, most int) (shape []int, count int, err error) {
	count = 1
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil || n > 0 && count > most/n {
			return nil, 0, fmt.Errorf("its shape (%s) has too many values; at most %d are read", text, most)
		}
		shape, count = append(shape, n), count*n
	}
	return shape, count, nil
}

// transpose turns values in Fortran order, the first axis fastest, into C order.
func (a *Array) transpose() {
	stored := slices.Clone(a.Values)
	strides, stride := make([]int, len(a.Shape)), 1
	for axis, n := range a.Shape {
		strides[axis], stride = stride, stride*n
	}
	index := make([]int, len(a.Shape))
	for i := range a.Values {
		at := 0
		for axis, n := range index {
			at += n * strides[axis]
		}
		a.Values[i] = stored[at]
		for axis := len(index) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < a.Shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}
