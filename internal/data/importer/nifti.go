package importer

import (
	"errors"
	"fmt"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/raster"
)

// readNIfTI reads a .nii or .nii.gz file. Images stay as they are stored, wherever their axes point
// in the body, and masks are brought into their order.
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
