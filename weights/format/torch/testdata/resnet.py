"""Writes resnet.safetensors: the state dict of a ResNet of basic blocks as torchvision names it, of the widths of configuration tiny, and
what PyTorch computes with it. Development only.

    apt-get install python3-torch        # Debian 12: 1.13, CPU
    /usr/bin/python3 weights/format/torch/testdata/resnet.py

  state.NAME      the state dict, random, with running statistics that are not those of the start
  x (1,3,64,64)   an image, values 0..1
  e0 (1,8,32,32)  after conv1, bn1 and relu, of the image normalised as torchvision's models want it
  e4 (1,16,2,2)   after layer4, of the image normalised as ours are
"""
import pathlib
import sys

import torch
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "model" / "testdata" / "twin"))
import goldens


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.downsample = None
        if stride != 1 or cin != cout:
            self.downsample = nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + shortcut)


class ResNet(nn.Module):
    def __init__(self, stem, widths):
        super().__init__()
        self.conv1 = nn.Conv2d(3, stem, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(stem)
        cin = stem
        for i, width in enumerate(widths):
            setattr(self, f"layer{i + 1}", nn.Sequential(BasicBlock(cin, width, 1 if i == 0 else 2)))
            cin = width
        self.fc = nn.Linear(cin, 5)

    def stem(self, x):
        return torch.relu(self.bn1(self.conv1(x)))

    def features(self, x):
        x = torch.max_pool2d(self.stem(x), 3, 2, 1)
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


def main():
    torch.manual_seed(3)
    net = ResNet(8, (8, 16, 16, 16)).eval()
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                for t in (module.weight, module.bias, module.running_mean):
                    t.add_(0.3 * torch.randn(t.shape))
                module.running_var.mul_(torch.exp(0.3 * torch.randn(module.running_var.shape)))
        x = torch.rand(1, 3, 64, 64)
        mean, deviation = (torch.tensor(v)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
        out = {f"state.{k}": v for k, v in net.state_dict().items()}
        net.double()
        out |= {"x": x, "e0": net.stem(((x - mean) / deviation).double()), "e4": net.features(((x - 0.5) / 0.25).double())}
    goldens.save(HERE / "resnet.safetensors", out, {"format": "pt", "torch": torch.__version__})


main()
