package importer

import (
	"errors"
	"fmt"

	"mrprism/internal/data/imageio"
	"mrprism/internal/data/nifti"
	"mrprism/internal/data/raster"
)

// readNIfTI reads a .nii or .nii.gz file. The importer ignores the axes' directions in the body.
func readNIfTI(path string) (*nifti.Volume, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	v, err := nifti.Read(data, imageio.MaxPixels)
	if of, ok := errors.AsType[raster.Unsupported](err); ok {
		return nil, fmt.Errorf("MrPrism does not read %v", of)
	}
	return v, err
}
