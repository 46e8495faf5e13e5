// A corpus of small scripts for the reader of facts: for each kind what is one, what is none and what misleads
// (comments, texts, other objects of the same name, aliases, wrappers). Precision and recall of each kind are printed;
// both are 1.
#include <cstdio>
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "formats/python/script_reader.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

struct CorpusSample {
  const char* code;
  std::set<std::string> kinds;  // facts that it holds, of the kinds that the corpus is about
};

// "unsorted" and "host value" are not kinds of facts: an order that is dealt out, a figure that decides.
const CorpusSample kCorpus[] = {
    // --- listings, sorted or not, and what deals them out
    {"import os\nnames = os.listdir('/d')\n", {"listing"}},
    {"from os import listdir as ls\nnames = ls('/d')\n", {"listing"}},
    {"import os as o\nnames = [n for n in o.scandir('/d')]\n", {"listing"}},
    {"# os.listdir('/d')\ntext = \"os.listdir('/d')\"\n", {}},
    {"class Os:\n  def listdir(self, p):\n    return []\nos = Os()\nnames = os.listdir('/d')\n", {}},
    {"import glob, torch.distributed as dist\nf = glob.glob('*')[dist.get_rank()::dist.get_world_size()]\n",
     {"listing", "rank", "world_size", "shard", "unsorted"}},
    {"import glob, torch.distributed as dist\nf = sorted(glob.glob('*'))[dist.get_rank()::8]\n",
     {"listing", "rank", "shard"}},
    {"import glob, torch.distributed as dist\nf = glob.glob('*')\nf.sort()\ng = f[dist.get_rank()::8]\n",
     {"listing", "rank", "shard"}},
    {"import pathlib, torch.distributed as dist\nf = list(pathlib.Path('/d').iterdir())\ng = f[dist.get_rank()::8]\n",
     {"listing", "rank", "shard", "unsorted"}},
    {"import os, torch.distributed as dist\nr = dist.get_rank()\nout = []\nfor i, n in "
     "enumerate(os.listdir('/d')):\n  if i % 8 == r:\n    out.append(n)\n",
     {"listing", "rank", "shard", "unsorted"}},
    {"import os, torch.distributed as dist\nr = dist.get_rank()\nprint(len(os.listdir('/d')), r)\n",
     {"listing", "rank"}},
    {"import os, torch.distributed as dist\nfiles = []\nfor root, dirs, names in os.walk('/d'):\n  for n in names:\n "
     "   files.append(os.path.join(root, n))\npart = files[dist.get_rank()::4]\n",
     {"listing", "rank", "shard", "unsorted"}},
    {"import os, torch.distributed as dist\ndef names(p):\n  return sorted(os.listdir(p), key=str.lower)\npart = "
     "names('/d')[dist.get_rank() * 4:(dist.get_rank() + 1) * 4]\n",
     {"listing", "rank", "shard"}},
    {"import numpy as np, os, torch.distributed as dist\npart = np.array_split(os.listdir('/d'), "
     "8)[dist.get_rank()]\n",
     {"listing", "rank", "shard", "unsorted"}},
    {"import tensorflow as tf, os\nd = tf.data.Dataset.list_files('*').shard(8, int(os.environ['RANK']))\n",
     {"list_files", "rank", "shard", "unsorted"}},
    {"import tensorflow as tf, os\nd = tf.data.Dataset.list_files('*', shuffle=False).shard(8, "
     "int(os.environ['RANK']))\n",
     {"list_files", "rank", "shard"}},
    // --- shuffles, batches, loaders
    {"import tensorflow as tf\nd = tf.data.Dataset.range(9).shuffle(100, seed=1).batch(4, drop_remainder=True)\n",
     {"dataset", "shuffle", "batch"}},
    {"class Deck:\n  def shuffle(self, n):\n    pass\n  def batch(self, n):\n    pass\nd = "
     "Deck()\nd.shuffle(3)\nd.batch(2)\n",
     {}},
    {"import random\nx = [1, 2]\nrandom.shuffle(x)\n", {"shuffle"}},
    {"from torch.utils.data import DataLoader as DL\nx = DL([1], batch_size=2, shuffle=True)\n", {"loader"}},
    {"DataLoader = dict\nx = DataLoader(batch_size=2)\n", {}},
    {"import torch\nBATCH = 4\ndef make(data, **kw):\n  return torch.utils.data.DataLoader(data, batch_size=BATCH, "
     "**kw)\nx = make([1], drop_last=True)\n",
     {"loader"}},
    {"import psutil, tensorflow as tf\ndef size():\n  return psutil.virtual_memory().available // 1024\nd = "
     "tf.data.Dataset.range(9).shuffle(size())\n",
     {"dataset", "shuffle", "host", "host value"}},
    {"import psutil, tensorflow as tf\nprint(psutil.virtual_memory().available)\nd = "
     "tf.data.Dataset.range(9).shuffle(100)\n",
     {"dataset", "shuffle", "host"}},
    {"import os, torch\nx = torch.utils.data.DataLoader([1], num_workers=os.cpu_count())\n",
     {"loader", "host_processors", "host value"}},
    // --- transforms
    {"from torchvision import transforms as T\nt = T.Compose([T.Resize(4), T.Normalize((0.5,), (0.5,))])\n",
     {"transform"}},
    {"class T:\n  @staticmethod\n  def Resize(n):\n    return n\nt = T.Resize(4)\n", {}},
    // --- precision
    {"import torch\nwith torch.autocast('cuda', dtype=torch.float16):\n  pass\n", {"autocast"}},
    {"from torch.cuda.amp import autocast as half_mode, GradScaler as GS\ns = GS()\nwith half_mode():\n  pass\n",
     {"autocast", "scaler"}},
    {"text = 'with torch.autocast(): GradScaler()'  # torch.autocast('cuda')\n", {}},
    {"import torch.nn as nn\nm = nn.Linear(2, 2).half()\n", {"layer", "cast"}},
    {"import torch.nn as nn\nm = nn.Linear(2, 2).to('cuda')\n", {"layer"}},
    {"class Palette:\n  def half(self):\n    return 1\nPalette().half()\n", {}},
    {"from apex import amp\nm, o = amp.initialize(1, 2, opt_level='O2')\n", {"amp_level"}},
    {"import mindspore as ms\nn = ms.amp.auto_mixed_precision(1, 'O2')\n", {"amp_level"}},
    {"from npu_bridge.npu_init import *\no = NPULossScaleOptimizer(1, 2, is_distributed=True)\n",
     {"loss_scale_optimizer"}},
    // --- training
    {"import torch\nfrom torch import optim as om\nm = torch.nn.Linear(2, 2)\no = om.SGD(m.parameters(), "
     "lr=0.1)\nfor x in [1, 2, 3, 4, 5]:\n  o.zero_grad()\n  m(x).sum().backward()\n  o.step()\n",
     {"layer", "optimizer", "zero_grad", "backward", "optimizer_step"}},
    {"class Walk:\n  def step(self):\n    pass\n  def zero_grad(self):\n    pass\nw = "
     "Walk()\nw.step()\nw.zero_grad()\n",
     {}},
    {"import torch\nclass N(torch.nn.Module):\n  def forward(self, x):\n    return x\nn = "
     "N()\nn.eval()\nn.train()\nn(1)\n",
     {"module", "eval_mode", "train_mode", "forward"}},
    {"import re\nx = eval('1')\nclass Trainer:\n  def eval(self):\n    pass\nTrainer().eval()\n", {}},
    {"import torch\nn = torch.nn.Linear(1, 1)\nn.load_state_dict({}, strict=False)\n", {"layer", "load"}},
    {"import torch, random\nimport numpy as np\nrandom.seed(1)\nnp.random.seed(1)\ntorch.manual_seed(1)\n", {"seed"}},
    {"class R:\n  def seed(self, n):\n    pass\nrandom = R()\nrandom.seed(1)\n", {}},
    {"import torch.distributed as d\nfrom torch.nn.parallel import DistributedDataParallel as "
     "W\nd.init_process_group('nccl')\nm = W(1)\n",
     {"distributed_init", "distributed_wrapper"}},
    {"import torch\ns = torch.utils.data.DistributedSampler([1], shuffle=True)\ns.set_epoch(1)\n",
     {"sampler", "set_epoch"}},
    {"if False:\n  import torch\n  torch.manual_seed(1)\nDEBUG = 0\nif DEBUG:\n  import random\n  random.seed(1)\n",
     {}},
    {"import torch\ndef f():\n  torch.manual_seed(1)\ntry:\n  f()\nexcept ValueError:\n  pass\n", {"seed"}},
    {"import importlib, torch.nn as nn\nlayers = {'bn': nn.BatchNorm2d, 'ln': nn.LayerNorm}\nx = layers['bn'](3, "
     "momentum=0.1)\n",
     {"layer"}},
};

std::set<std::string> KindsOf(const v1::ScriptTree& tree) {
  std::set<std::string> kinds;
  for (const v1::ScriptFact& fact : tree.facts()) {
    if (!fact.called()) continue;
    kinds.insert(fact.kind());
    for (const v1::ScriptArgument& argument : fact.arguments()) {
      if (fact.kind() == "shard" && argument.unsorted_size() > 0) kinds.insert("unsorted");
      if (argument.follows_host() && (fact.kind() == "shuffle" || fact.kind() == "loader")) kinds.insert("host value");
    }
  }
  return kinds;
}

TEST(ScriptCorpus, EveryKindIsFoundAndNothingElse) {
  std::set<std::string> about;
  for (const CorpusSample& sample : kCorpus) about.insert(sample.kinds.begin(), sample.kinds.end());
  struct Count {
    int right = 0, wrong = 0, missed = 0;
  };
  std::map<std::string, Count> counts;
  for (const CorpusSample& sample : kCorpus) {
    const std::set<std::string> found = KindsOf(ReadScripts({{"train.py", sample.code}}, {}, BuiltInRules().scripts));
    for (const std::string& kind : about) {
      const bool is = sample.kinds.contains(kind);
      const bool told = found.contains(kind);
      Count& count = counts[kind];
      count.right += is && told ? 1 : 0;
      count.wrong += !is && told ? 1 : 0;
      count.missed += is && !told ? 1 : 0;
      EXPECT_EQ(is, told) << kind << " in:\n" << sample.code;
    }
  }
  for (const auto& [kind, count] : counts) {
    std::printf("%-20s precision %.2f recall %.2f (%d samples)\n", kind.c_str(),
                static_cast<double>(count.right) / std::max(1, count.right + count.wrong),
                static_cast<double>(count.right) / std::max(1, count.right + count.missed), count.right + count.missed);
  }
}

// Whatever the text is, it is read, and what it costs is bounded.
TEST(ScriptCorpus, BrokenAndHostileSources) {
  const auto read = [](std::string text) {
    return ReadScripts({{"train.py", std::move(text)}}, {}, BuiltInRules().scripts);
  };
  const std::string python2 =
      "import os\nprint 'hello'\nexec 'x = 1'\ntry:\n  pass\nexcept Exception, e:\n  print >>f, `e`\nnames = "
      "os.listdir('/d')\n";
  EXPECT_TRUE(KindsOf(read(python2)).contains("listing"));
  const v1::ScriptTree merge = read(
      "import os\n<<<<<<< a\nx = sorted(os.listdir('/d'))\n=======\nx = os.listdir('/d'\n>>>>>>> b\nimport "
      "torch\ntorch.manual_seed(1)\n");
  EXPECT_FALSE(merge.notes().empty());
  EXPECT_EQ(merge.notes(0).kind(), "unreadable_script");
  EXPECT_FALSE(merge.whole());
  EXPECT_TRUE(KindsOf(read(absl::StrCat("import os\nx = '", std::string(1 << 20, 'x'), "'\ny = os.listdir('/d')\n")))
                  .contains("listing"));
  EXPECT_TRUE(KindsOf(read("import os\n# \xff\xfe\xa3\nx = '\xc4\xe3'\ny = os.listdir('/d')\n")).contains("listing"));
  const v1::ScriptTree strange = read("import yaml\nc = yaml.safe_load(open('\xc4\xe3.yaml'))\n");
  EXPECT_TRUE(v1::ScriptTree().ParseFromString(strange.SerializeAsString()));  // text fields hold UTF-8 alone
  EXPECT_EQ(strange.settings_files_size(), 1);
  for (const char* open : {"(", "[", "{", "f(", "-", "not ", "lambda: ", "x if y else "}) {
    std::string deep = "x = ";
    for (int i = 0; i < 20'000; ++i) deep += open;
    read(deep + "\n");
  }
  std::string nested;
  for (int i = 0; i < 300; ++i) nested += std::string(static_cast<std::size_t>(i), ' ') + "if x:\n";
  read(nested + std::string(300, ' ') + "pass\n");
  // Calls that double with each level end with the budget.
  std::string doubling = "def f0():\n  pass\n";
  for (int i = 1; i < 60; ++i) absl::StrAppend(&doubling, "def f", i, "():\n  f", i - 1, "()\n  f", i - 1, "()\n");
  EXPECT_FALSE(read(doubling + "f59()\n").whole());
  // Calls in a circle end too.
  read(
      "def f(x):\n  return g(x)\ndef g(x):\n  return f(x)\nf(1)\nclass A:\n  def __init__(self):\n    self.a = "
      "A()\nA()\n");
}

TEST(ScriptCorpus, CommentsWaiveWithAReason) {
  const v1::ScriptTree tree =
      ReadScripts({{"a.py", "import os\n# paritect: allow unsorted_listing: counted only\nx = os.listdir('/d')\n"}}, {},
                  BuiltInRules().scripts);
  ASSERT_EQ(tree.files(0).waivers_size(), 1);
  EXPECT_EQ(tree.files(0).waivers(0).kind(), "unsorted_listing");
  EXPECT_EQ(tree.files(0).waivers(0).reason(), "counted only");
  EXPECT_EQ(tree.files(0).waivers(0).line(), 2);
}

// The same tree gives the same bytes, in whatever order its files come.
TEST(ScriptCorpus, Deterministic) {
  const std::string a = "from b import make\nimport torch\nx = torch.utils.data.DataLoader(make())\n";
  const std::string b = "import os\ndef make():\n  return sorted(os.listdir('/d'))\n";
  const std::string one = ReadScripts({{"a.py", a}, {"b.py", b}}, {}, BuiltInRules().scripts).SerializeAsString();
  EXPECT_EQ(one, ReadScripts({{"b.py", b}, {"a.py", a}}, {}, BuiltInRules().scripts).SerializeAsString());
}

}  // namespace
}  // namespace paritect
