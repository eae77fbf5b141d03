package main

import (
	"testing"

	"mrprism/internal/metric"

	"github.com/stretchr/testify/assert"
)

func TestIntervalsAreWritten(t *testing.T) {
	i := metric.Interval{Mean: -0.00004, Low: -0.00006, High: 0.0123}
	assert.Equal(t, "+0.00 [-0.01, +1.23]", signed(i, 100, 2))
	assert.Equal(t, "0.00 [-0.01, 1.23]", plain(i, 100, 2))
}
