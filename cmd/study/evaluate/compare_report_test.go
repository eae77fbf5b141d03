package main

import (
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"

	"github.com/stretchr/testify/require"
)

// The page is well formed and needs nothing that it does not hold.
func TestComparePage(t *testing.T) {
	data, _ := studytest.Synthesise(t)
	first, second := shifted(t, data, t.TempDir(), 0), shifted(t, data, t.TempDir(), 3)
	studytest.WriteFile(t, filepath.Join(second, "disc", "case9999.npy"), nil)
	dir, _, _, _ := writtenBy(t, 1, "-data", data, "-on", "all", "-predictions", "a<b="+first+",second="+second)
	page := string(studytest.ReadFile(t, filepath.Join(dir, "report.html")))
	wellFormed(t, page)
	pictures := regexp.MustCompile(`data:image/jpeg;base64,[\w/+=&#;]*`)
	outside := regexp.MustCompile(`(?i).{20}(https?:|//[a-z]|url\(|@import|<script|<link|<iframe|href=).{20}`)
	require.Empty(t, outside.FindAllString(pictures.ReplaceAllString(page, "data:image/jpeg;base64,"), -1))
	for _, source := range regexp.MustCompile(`(?i)src\s*=\s*"([^"]{0,30})`).FindAllStringSubmatch(page, -1) {
		require.True(t, strings.HasPrefix(source[1], "data:image/jpeg;base64,"), source[1])
	}
	require.True(t, strings.Contains(page, "a&lt;b"))
	require.False(t, strings.Contains(page, "ZgotmplZ"), "html/template refused something")
	require.Equal(t, 2*3+1, strings.Count(page, "<svg"), "three plots of each class, and risk and coverage")
	require.Equal(t, 2*3*3, strings.Count(page, "<img"), "three images in three galleries, by two methods")
	require.True(t, strings.Contains(page, "case9999.npy"))
	require.False(t, strings.Contains(pictures.ReplaceAllString(page, ""), "NaN"))
}

// wellFormed requires that all elements of a page are closed.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(page, "<!DOCTYPE html>")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			if !slices.Contains(xml.HTMLAutoClose, e.Name.Local) {
				open = append(open, e.Name.Local)
			}
		case xml.EndElement:
			if slices.Contains(xml.HTMLAutoClose, e.Name.Local) {
				continue
			}
			require.NotEmpty(t, open)
			require.Equal(t, open[len(open)-1], e.Name.Local)
			open = open[:len(open)-1]
		}
	}
	require.Empty(t, open)
}
