import ij.ImagePlus;
import ij.gui.Roi;
import ij.io.Opener;
import ij.io.RoiDecoder;
import ij.measure.Calibration;
import ij.process.ImageStatistics;
import java.io.FileInputStream;
import java.util.zip.ZipInputStream;

/** Prints what ImageJ finds in the label image of each folder, and in each region of its ZIP: its name and kind, its pixels, their numbers, its box. */
class Rois {
	public static void main(String[] args) throws Exception {
		for (String folder : args) {
			ImagePlus labels = new Opener().openImage(folder + "/labels-tiff");
			Calibration c = labels.getCalibration();
			System.out.println("size " + labels.getWidth() + " " + labels.getHeight() + " " + labels.getBitDepth() + " " + c.getUnit() + " " + c.pixelWidth);
			labels.setCalibration(null);
			ZipInputStream zip = new ZipInputStream(new FileInputStream(folder + "/imagej"));
			for (var entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
				Roi roi = new RoiDecoder(zip.readAllBytes(), entry.getName()).getRoi();
				labels.setRoi(roi);
				ImageStatistics s = labels.getStatistics();
				var box = roi.getBounds();
				System.out.println("roi " + roi.getName() + " " + roi.getTypeAsString() + " " + s.pixelCount + " " + (int) s.min + " " + (int) s.max + " " + box.x + " "
					+ box.y + " " + box.width + " " + box.height);
			}
		}
	}
}
