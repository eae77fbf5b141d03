// Package tensorboard writes event files, which TensorBoard shows as curves and pictures. A file is
// a sequence of records (TFRecord). Each record is an Event message. Field numbers are those of
// TensorFlow's event.proto and summary.proto.
package tensorboard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"mrprism/weights/disk"
	"mrprism/weights/format/protobuf"
)

// Values of enumerations in the messages: the start of a session, and a picture of three channels.
const start, rgb = 1, 3

// Writer appends to one event file.
type Writer struct{ file *disk.Records }

// Scalar is one point of the curve named Tag. TensorBoard groups tags by the part before a slash:
// "loss/mask" is in the group loss.
type Scalar struct {
	Tag   string
	Value float64
}

// Create begins a new file in the folder, and makes the folder if it is missing. The file starts or
// resumes a run at a step. TensorBoard then hides this step and later ones of earlier files.
func Create(folder string, step int) (*Writer, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	// TensorBoard reads a folder's files in the order of their names, and only those with "tfevents"
	path := filepath.Join(folder, fmt.Sprintf("events.out.tfevents.%019d.mrprism", time.Now().UnixNano()))
	file, err := disk.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	records, err := disk.NewRecords(file, 0)
	if err != nil {
		file.Close()
		return nil, err
	}
	w := &Writer{records}
	err = w.event(0, func(e *protobuf.Message) { e.Text(3, "brain.Event:2") })
	if err == nil {
		err = w.event(step, func(e *protobuf.Message) { e.Bytes(7, *new(protobuf.Message).Integer(1, start)) })
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return w, nil
}

// Scalars writes values of one step.
func (w *Writer) Scalars(step int, scalars ...Scalar) error {
	var summary protobuf.Message
	for _, s := range scalars {
		summary.Bytes(1, *new(protobuf.Message).Text(1, s.Tag).Float(2, s.Value))
	}
	return w.event(step, func(e *protobuf.Message) { e.Bytes(5, summary) })
}

// Image writes a picture of one step.
func (w *Writer) Image(step int, tag string, picture image.Image) error {
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		return err
	}
	var inner, value, summary protobuf.Message
	inner.Integer(1, picture.Bounds().Dy()).Integer(2, picture.Bounds().Dx()).Integer(3, rgb).Bytes(4, encoded.Bytes())
	summary.Bytes(1, *value.Text(1, tag).Bytes(4, inner))
	return w.event(step, func(e *protobuf.Message) { e.Bytes(5, summary) })
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }

// event writes one record: an Event of the present time.
func (w *Writer) event(step int, fill func(e *protobuf.Message)) error {
	var e protobuf.Message
	e.Double(1, float64(time.Now().UnixMicro())/1e6)
	e.Integer(2, step)
	fill(&e)
	record := binary.LittleEndian.AppendUint64(nil, uint64(len(e)))
	record = binary.LittleEndian.AppendUint32(record, masked(record))
	record = append(record, e...)
	record = binary.LittleEndian.AppendUint32(record, masked(record[12:]))
	return w.file.Append(record) // in one piece, so that a killed run leaves whole records
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is a checksum as TFRecord stores it, rotated by 15 bits and shifted by a constant. This
// keeps checksums useful for data that itself has checksums.
func masked(b []byte) uint32 {
	sum := crc32.Checksum(b, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
