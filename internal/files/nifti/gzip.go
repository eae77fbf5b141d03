package nifti

import (
	"bytes"
	"compress/gzip"
	"io"
)

// members unpacks gzip. Its members follow each other, and zeros may stand behind the last one.
type members struct {
	*gzip.Reader
	left *bytes.Reader
}

func unzip(data []byte) (*members, error) {
	left := bytes.NewReader(data)
	z, err := gzip.NewReader(left)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &members{z, left}, nil
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.Reader.Read(p)
		switch {
		case err != io.EOF:
			return n, err
		case n > 0:
			return n, nil
		}
		if err := m.nextMember(); err != nil {
			return 0, err
		}
	}
}

// nextMember goes on to the next member, and returns io.EOF if there is none.
func (m *members) nextMember() error {
	for zero := byte(0); zero == 0; {
		var err error
		if zero, err = m.left.ReadByte(); err != nil {
			return err
		}
	}
	m.left.UnreadByte()
	err := m.Reset(m.left)
	m.Multistream(false)
	return err
}
