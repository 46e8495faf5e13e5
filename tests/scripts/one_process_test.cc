// Which runs are known to be one process by their script and launch line, and which must not be: each line of the lists
// is a way in which a training has more processes than its launch line shows, or may have.
#include "checks/scripts/one_process.h"

#include <gmock/gmock.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/scripts/script_test_util.h"

namespace paritect {
namespace {

constexpr char kTrain[] =
    "import argparse\n"
    "import torch\n"
    "from torch import nn\n"
    "from torch.utils.data import DataLoader\n"
    "from corpus import Corpus\n"
    "def main():\n"
    "    parser = argparse.ArgumentParser()\n"
    "    parser.add_argument('--lr', type=float, default=1e-3)\n"
    "    args = parser.parse_args()\n"
    "    loader = DataLoader(Corpus('data'), batch_size=8, shuffle=True, num_workers=4)\n"
    "    model = nn.Linear(4, 2)\n"
    "    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)\n"
    "    for x, y in loader:\n"
    "        loss = nn.functional.cross_entropy(model(x), y)\n"
    "        optimizer.zero_grad()\n"
    "        loss.backward()\n"
    "        optimizer.step()\n"
    "        print(f'loss {loss.item():.4f}')\n"
    "    torch.save(model.state_dict(), 'model.pt')\n"
    "if __name__ == '__main__':\n"
    "    main()\n";
constexpr char kCorpus[] =
    "import glob\nimport json\nimport os\nimport torch\nfrom torch.utils.data import Dataset\n"
    "class Corpus(Dataset):\n"
    "    def __init__(self, root):\n"
    "        names = sorted(glob.glob(os.path.join(root, '*.jsonl')))\n"
    "        self.rows = [json.loads(line) for name in names for line in open(name)]\n"
    "    def __len__(self):\n"
    "        return len(self.rows)\n"
    "    def __getitem__(self, index):\n"
    "        return torch.tensor(self.rows[index]['x']), self.rows[index]['y']\n";
constexpr char kLaunch[] =
    "#!/bin/bash\nset -e\nexport OMP_NUM_THREADS=4\npython train.py --lr 1e-3 2>&1 | tee train.log\n";

using Files = std::map<std::string, std::string>;

v1::Bundle BundleOfFiles(Files files, const std::string& more_plan = "") {
  files.try_emplace("train.py", kTrain);
  files.try_emplace("corpus.py", kCorpus);
  files.try_emplace("run.sh", kLaunch);
  MemoryFileSystem fs;
  for (const auto& [name, text] : files) fs.AddFile(absl::StrCat("/job/", name), text);
  fs.AddFile("/job/plan.yaml", absl::StrCat("run: job\nnode: n0\nscripts: [.]\nsettings: [run.sh",
                                            files.contains("env.txt") ? ", env.txt" : "",
                                            files.contains("two.sh") ? ", two.sh" : "", "]\n", more_plan));
  auto plan = LoadPlan(fs, "/job/plan.yaml", "host");
  EXPECT_TRUE(plan.ok()) << plan.status();
  return CollectPlan({fs, BuiltInRules()}, *plan);
}

// What proves it; "" where nothing does.
std::string ProofOf(const v1::Bundle& bundle) {
  const EvidenceSet evidence({bundle}, {});
  const auto setting = ProvenOneProcess(evidence.Runs(Side::kBaseline)[0]);
  return setting.has_value() ? setting->origin() : "";
}

std::string Proof(const Files& files, const std::string& more_plan = "") {
  return ProofOf(BundleOfFiles(files, more_plan));
}

std::string WhyNot(const Files& files) {
  const EvidenceSet evidence({BundleOfFiles(files)}, {});
  return WhyNotOneProcess(evidence.Runs(Side::kBaseline)[0]);
}

TEST(OneProcess, APlainScriptIsAndSaysBywhat) {
  EXPECT_EQ(Proof({}),
            "run.sh:4 · python train.py · corpus.py, train.py | argparse, glob, json, os, torch, torch.nn, "
            "torch.utils.data");
}

TEST(OneProcess, OrdinaryCodeDoesNotStandAgainstIt) {
  for (const char* code :
       {"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nhome = os.environ.get('HOME', '')\n",
        "import os.path as osp\nprint(osp.join('a', 'b'))\n",
        "import logging\nlog = logging.getLogger(__name__)\nlog.info('x')\n",
        "import numpy as np\nimport random\nrandom.seed(1)\nnp.random.seed(1)\nx = np.zeros(3, dtype=np.float32)\n",
        "import torch.nn.functional as F\nimport torch.backends.cudnn as cudnn\ncudnn.benchmark = False\ny = F.relu\n",
        "torch.backends.cuda.matmul.allow_tf32 = False\ntorch.backends.cudnn.deterministic = True\n",
        "scaler = torch.cuda.amp.GradScaler()\nwith torch.cuda.amp.autocast(dtype=torch.float16):\n    pass\n",
        "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n",
        "from torchvision import transforms, datasets\nt = transforms.Compose([transforms.ToTensor()])\n",
        "state = torch.load('a.pt', weights_only=True)\n", "from tqdm import tqdm\n",
        "from torch.optim.lr_scheduler import CosineAnnealingLR as Cosine\n",
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self._x = getattr(self, "
        "'y', 1)\n",
        "args = main\nprint('arguments:', vars(args))\nprint(f'{vars(args)}', dict(**vars(args)))\n",
        "import json\nargs = main\nprint(json.dumps(vars(args), indent=2))\n",
        "import numpy as np\nprint(torch.__version__, np.__version__.split('.')[0])\n",
        "from __future__ import annotations\n", "import sys\nprint(sys.argv[1:], file=sys.stderr)\n"}) {
    EXPECT_NE(Proof({{"train.py", absl::StrCat("import torch\nfrom torch import nn\n", code, kTrain)}}), "")
        << code << WhyNot({{"train.py", absl::StrCat("import torch\nfrom torch import nn\n", code, kTrain)}});
  }
  EXPECT_NE(Proof({{"train.py", absl::StrCat("from lib.nets import Net\nimport lib.data as data\n", kTrain)},
                   {"lib/__init__.py", ""},
                   {"lib/nets.py", "from torch import nn\nfrom . import parts\nfrom .parts import Part\nNet = Part\n"},
                   {"lib/parts.py", "from torch import nn\nclass Part(nn.Module):\n    pass\n"},
                   {"lib/data.py", "import json\n"},
                   {"other/launch.py", "import subprocess\n"}}),  // which nothing imports
            "");
}

TEST(OneProcess, CodeThatMayStartJoinOrAskForOthers) {
  for (const char* code :
       {// processes by name
        "import torch.multiprocessing as mp\nmp.spawn(main, nprocs=4)\n", "from torch import multiprocessing\n",
        "from torch.multiprocessing import spawn\n", "import multiprocessing\n", "import subprocess\n",
        "from subprocess import Popen as P\n", "import os\nos.fork()\n", "from os import fork\n",
        "import os\nos.system('python train.py')\n", "import os\nos.execvp('torchrun', [])\n",
        "import os\nos.spawnlp(0, 'x')\n", "import os\nos.posix_spawn('x', [], {})\n", "import os\nos.popen('x')\n",
        "import pty\n", "import asyncio\n", "import concurrent.futures\n", "import threading\n", "import socket\n",
        // launchers and trainers
        "import horovod.torch as hvd\n", "import deepspeed\n", "from accelerate import Accelerator\n",
        "import accelerate\naccelerate.notebook_launcher(main, num_processes=8)\n", "import lightning as L\n",
        "import pytorch_lightning\n", "import ray\n", "from joblib import Parallel\n", "from mpi4py import MPI\n",
        "import transformers\n", "from torchrun import main as launch\n", "import torch_xla\n", "import fabric\n",
        "try:\n    import horovod\nexcept ImportError:\n    horovod = None\n",
        // torch's own ways
        "torch.distributed.init_process_group('nccl')\n", "import torch.distributed as dist\n",
        "model = nn.DataParallel(nn.Linear(1, 1))\n", "x = torch.nn.parallel.DistributedDataParallel\n",
        "from torch.nn.parallel import DistributedDataParallel as DDP\n", "torch.hub.load('a', 'b')\n",
        "torch.ops.load_library('a.so')\n", "from torch.utils.cpp_extension import load\n",
        "import torch.utils.cpp_extension as e\n", "torch.load('model.pt')\n", "torch.load('m', weights_only=False)\n",
        "o = {'weights_only': True}\ntorch.load('m', **o)\n", "read = torch.load\n",
        "from torch.utils.data.distributed import DistributedSampler\n",
        "torch.utils.data.dataloader.multiprocessing\n", "torch.utils.data.dataloader.python_multiprocessing\n",
        "torch.nn.functional.torch.x\n", "torch.something.new()\n", "import torch.something\n", "torch._C._x()\n",
        "from torch.testing._internal import common_distributed\n"}) {
    EXPECT_EQ(Proof({{"train.py", absl::StrCat("import torch\nfrom torch import nn\n", code, kTrain)}}), "") << code;
    // Also where nothing seems to call it.
    const std::string indented = absl::StrCat("    ", absl::StrReplaceAll(code, {{"\n", "\n    "}}), "pass\n");
    EXPECT_EQ(Proof({{"corpus.py",
                      absl::StrCat("import torch\nfrom torch import nn\ndef unused(main):\n", indented, kCorpus)}}),
              "")
        << code;
  }
}

// Options that are shown as a whole ask for no key; all else of vars() does, or may.
TEST(OneProcess, NamesThatAreReachedThroughVars) {
  for (const char* code :
       {"print(vars(torch))\n", "print(vars())\n", "vars(main)['x']()\n", "print(vars(main)['x'])\n",
        "print(vars(nn.Linear))\n", "d = vars(main)\n", "print(vars)\n", "torch.__file__\n"}) {
    EXPECT_EQ(Proof({{"train.py", absl::StrCat("import torch\nfrom torch import nn\n", code, kTrain)}}), "") << code;
  }
}

TEST(OneProcess, CodeThatReachesNamesByOtherWays) {
  for (const char* code : {"__import__('subprocess')\n",
                           "import importlib\n",
                           "exec('import os')\n",
                           "eval('1')\n",
                           "compile('1', 'x', 'exec')\n",
                           "globals()['x']\n",
                           "vars(torch)\n",
                           "run = exec\n",
                           "map(exec, ['1'])\n",
                           "getattr(torch, 'multi' + 'processing')\n",
                           "getattr(torch, 'multiprocessing')\n",
                           "name = 'fork'\ngetattr(nn, name)\n",
                           "import functools\nfunctools.reduce(getattr, ['a', 'b'], nn.Linear)\n",
                           "x = nn.Linear\ngetattr(x, '__globals__')\n",
                           "t = torch\nt.multiprocessing.spawn()\n",
                           "ts = [torch]\nts[0].x\n",
                           "def f(m=torch):\n    pass\n",
                           "(t := torch)\n",
                           "print(torch)\n",
                           "def f():\n    return torch\n",
                           "(torch).multiprocessing.spawn()\n",
                           "import random\nrandom._os.fork()\n",
                           "import logging\nlogging.os.fork()\n",
                           "from logging import os\n",
                           "import argparse as a\na._sys.modules['os'].fork()\n",
                           "import sys\nsys.modules['os']\n",
                           "import sys\nsys.path.insert(0, '/x')\n",
                           "from sys import path\n",
                           "import logging.config\n",
                           "def f():\n    pass\nf.__globals__['x']\n",
                           "nn.Linear.__init__.__globals__\n",
                           "object.__subclasses__()\n",
                           "nn.Linear(1, 1).__dict__\n",
                           "__builtins__\n",
                           "__loader__\n",
                           "from os import *\n",
                           "from torch import *\n",
                           "import yaml\nyaml.load('x', Loader=yaml.Loader)\n",
                           "import pickle\n",
                           "import operator\noperator.attrgetter('x')\n",
                           "import numpy as np\nnp.load('x', allow_pickle=True)\n",
                           "import numpy as np\nnp.ctypeslib\n",
                           "import numpy\nnumpy.f2py.compile('x')\n",
                           "import typing\ntyping.get_type_hints(main)\n",
                           "import timeit\n", "import string\nstring.Formatter().get_field('0.x', [main], {})\n",
        "from typing import operator as o\ng = o\ng.attrgetter('__globals__')\n", "nn.Linear(1, 1).__getattr__('x')\n",
                           "import ctypes\nctypes.CDLL(None).fork()\n",
                           "import cffi\n",
                           "import code\n",
                           "import runpy\n",
                           "import inspect\n",
                           "import builtins\n",
                           "import posix\n",
                           "import _posixsubprocess\n",
                           "import pandas\n",
                           "f'{__import__(\"os\").system(\"x\")}'\n",
                           "f'{exec(1)!r:>{eval(2)}}'\n",
                           "get_ipython().system('x')\n",
                           "import missing_helper\n",
                           "from missing.helper import x\n",
                           "from . import x\n",
                           "from .helper import x\n",
                           "# x\rimport os; os.fork()\n",
                           "\xEF\xBD\x85\xEF\xBD\x98\xEF\xBD\x85\xEF\xBD\x83('x')\n",  // exec in full width
                           "import os as \xEF\xBD\x8Fs\n",
                           "x = (\n"}) {
    EXPECT_EQ(Proof({{"train.py", absl::StrCat("import torch\nfrom torch import nn\n", code, kTrain)}}), "") << code;
  }
}

TEST(OneProcess, EncodingsByWhichPythonSeesOtherCode) {
  EXPECT_EQ(Proof({{"train.py", absl::StrCat("# -*- coding: rot13 -*-\n", kTrain)}}), "");
  EXPECT_EQ(Proof({{"train.py", absl::StrCat("# vim: set fileencoding=utf-7 :\n", kTrain)}}), "");
  EXPECT_NE(Proof({{"train.py", absl::StrCat("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n", kTrain)}}), "");
}

TEST(OneProcess, ModulesOfTheProjectAreFollowed) {
  const std::string fork = "import os\nos.fork()\n";
  EXPECT_EQ(Proof({{"corpus.py", absl::StrCat(fork, kCorpus)}}), "");
  // Under the name of a module that is harmless elsewhere.
  EXPECT_EQ(Proof({{"json.py", fork}}), "");
  EXPECT_EQ(Proof({{"torch/__init__.py", fork}}), "");
  EXPECT_EQ(Proof({{"torch/__init__.py", ""}, {"torch/nn.py", fork}}), "");
  EXPECT_EQ(Proof({{"json.so",
                    "\x7F"
                    "ELF"}}),
            "");
  EXPECT_EQ(Proof({{"json.cpython-311-x86_64-linux-gnu.so",
                    "\x7F"
                    "ELF"}}),
            "");
  EXPECT_EQ(Proof({{"glob.pyc", ""}}), "");
  EXPECT_EQ(Proof({{"corpus/__init__.py", fork}}), "");  // a folder stands before a file of its name
  EXPECT_EQ(Proof({{"sitecustomize.py", ""}}), "");
  EXPECT_EQ(Proof({{"corpus.py", "def broken(:\n"}}), "");
  // Through others of the project.
  for (const char* head : {"from helper import os\nos.system('x')\n", "import helper\nhelper.os.system('x')\n",
                           "from helper import *\nos.system('x')\n", "import helper as h\nh.os.fork()\n",
                           "import helper\nx = helper\nx.os.fork()\n", "from pack import sub\nsub.os.fork()\n",
                           "import pack.sub\npack.sub.os.fork()\n", "import pack.run\n", "from pack.run import x\n",
                           "from pack import run\n", "import loose.run\n", "from bare import x\n"}) {
    EXPECT_EQ(Proof({{"train.py", absl::StrCat(head, kTrain)},
                     {"helper.py", "import os\nx = os.path.join('a', 'b')\n"},
                     {"pack/__init__.py", ""},
                     {"pack/sub.py", "import os\n"},
                     {"pack/run.py", "import subprocess\nx = 1\n"},
                     {"loose/run.py", "x = 1\n"},
                     {"bare/x.py", "x = 1\n"}}),
              "")
        << head;
  }
}

TEST(OneProcess, ScriptsThatKnowOfRanks) {
  for (const char* code :
       {"import os\nrank = int(os.environ['RANK'])\n", "import os\nn = os.environ.get('WORLD_SIZE')\n",
        "import os\nn = os.getenv('SLURM_PROCID')\n", "import os\nn = os.environ['RA' + 'NK']\n",
        "import os\nname = input()\nn = os.environ[name]\n", "import os\nall = dict(os.environ)\n",
        "from os import environ\nn = environ['OMPI_COMM_WORLD_RANK']\n", "import os\nget = os.getenv\n",
        "import os\nfor k, v in os.environ.items():\n    pass\n", "import os\nn = os.environ[f'RANK']\n",
        "world_size = 4\n", "def f(local_rank):\n    pass\n", "print(args.node_rank)\n", "f(num_processes=2)\n"}) {
    EXPECT_EQ(Proof({{"train.py", absl::StrCat(code, kTrain)}}), "") << code;
  }
  EXPECT_EQ(Proof({{"train.py", absl::StrReplaceAll(kTrain, {{"'--lr'", "'--local-rank'"}})}}), "");
}

TEST(OneProcess, LaunchesThatStartMoreOrOtherPrograms) {
  for (const char* launch : {"torchrun --nproc_per_node 1 train.py\n",
                             "mpirun -np 2 python train.py\n",
                             "srun python train.py\n",
                             "accelerate launch train.py\n",
                             "deepspeed train.py\n",
                             "horovodrun -np 2 python train.py\n",
                             "python -m torch.distributed.run train.py\n",
                             "python -m train\n",
                             "python -c 'import train'\n",
                             "for i in 0 1; do python train.py & done\n",
                             "python train.py & python train.py & wait\n",
                             "python train.py\npython train.py\n",
                             "while true; do python train.py; done\n",
                             "python train.py || python train.py\n",
                             "seq 4 | xargs -P 4 python train.py\n",
                             "ssh b python train.py\n",
                             "bash -c 'python train.py'\n",
                             "(python train.py)\n",
                             "{ python train.py; }\n",
                             "f() { python train.py; }\nf\n",
                             "if true; then python train.py; fi\n",
                             "eval python train.py\n",
                             "$LAUNCHER python train.py\n",
                             "$PY train.py\n", "./python train.py\n", "export PATH=.:$PATH\npython train.py\n",
                             "python $SCRIPT\n",
                             "python $FLAGS train.py\n",
                             "alias python=torchrun\npython train.py\n",
                             "source env.sh\npython train.py\n",
                             ". ./env.sh\npython train.py\n",
                             "RANK=0 python train.py\n",
                             "export WORLD_SIZE=4\npython train.py\n",
                             "SLURM_PROCID=1\npython train.py\n",
                             "PYTHONPATH=/x python train.py\n",
                             "export LD_PRELOAD=/x.so\npython train.py\n",
                             "cd /other && python train.py\n",
                             "pushd x\npython train.py\n",
                             "python /other/train.py\n",
                             "python ../train.py\n",
                             "#SBATCH --array=0-3\npython train.py\n",
                             "#!/usr/bin/mpirun bash -n\npython train.py\n",
                             "#!/usr/bin/env python\npython train.py\n",
                             "echo 'import os' > corpus.py\npython train.py\n",
                             "python train.py | tee corpus.py\n",
                             "python train.py > $OUT\n",
                             "cp /x/corpus.py .\npython train.py\n",
                             "python train.py --lr $(nvidia-smi | wc -l)\n",
                             "python train.py `x`\n",
                             "cat <<E | bash\npython train.py\nE\n",
                             "python train.py <(x)\n",
                             "parallel python train.py ::: 1 2\n",
                             "torchrun --no-python python train.py\n",
                             "python3 -X dev train.py\n",
                             "python -i train.py\n",
                             "ipython train.py\n",
                             "pythonw-mpi train.py\n",
                             "docker run x python train.py\n",
                             "trap 'python train.py' EXIT\npython train.py\n",
                             "python other.py\n",
                             "sudo -E python train.py\n",
                             "nohup sh -c 'python train.py'\n",
                             "yes | python train.py\n"}) {
    EXPECT_EQ(Proof({{"run.sh", launch}}), "") << launch;
  }
}

TEST(OneProcess, LaunchesThatStartOneProgram) {
  for (const char* launch :
       {"python train.py\n", "#!/bin/sh\r\npython3 train.py --lr 1 \\\r\n  > log.txt 2>&1\r\n",
        "cd \"$(dirname \"$0\")\"\nLR=1\nCUDA_VISIBLE_DEVICES=0 nohup python3.11 -u ./train.py --lr $LR &> a.log "
        "&\nwait\n",
        "# comment (with brackets) `x`\necho start; mkdir -p out\ntime python train.py \"$@\"\necho \"done\"\n",
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh\npython train.py 2> err.txt | tee -a log\n"}) {
    EXPECT_NE(Proof({{"run.sh", launch}}), "") << launch;
  }
}

TEST(OneProcess, WhatElseSpeaksOfOthers) {
  EXPECT_NE(Proof({{"env.txt", "HOME=/root\nOMP_NUM_THREADS=4\nLANG=C\nPATH=/usr/bin\n"}}), "");
  for (const char* variable : {"RANK=0", "WORLD_SIZE=2", "SLURM_PROCID=1", "OMPI_COMM_WORLD_SIZE=4",
                               "PYTHONPATH=/home/me", "LD_PRELOAD=/x.so"}) {
    EXPECT_EQ(Proof({{"env.txt", absl::StrCat("HOME=/root\nLANG=C\nPATH=/usr/bin\n", variable, "\n")}}), "")
        << variable;
  }
  EXPECT_EQ(Proof({{"two.sh", "#!/bin/bash\npython train.py --lr 2\n"}}), "");
  const Files log = {{"log0.txt", "step 1 loss 2.0\nstep 2 loss 1.9\n"},
                     {"log1.txt", "step 1 loss 2.0\nstep 2 loss 1.9\n"}};
  EXPECT_NE(Proof(log, "logs: [log0.txt]\n"), "");
  EXPECT_EQ(Proof(log, "logs: ['log{rank}.txt']\n"), "");
  // Two nodes of one run.
  const v1::Bundle one = BundleOfFiles({});
  v1::Bundle other = one;
  other.mutable_plan()->set_node("n1");
  const EvidenceSet evidence({one, other}, {});
  EXPECT_FALSE(ProvenOneProcess(evidence.Runs(Side::kBaseline)[0]).has_value());
}

TEST(OneProcess, AnAuditKnowsItsBatchByIt) {
  const v1::Report healthy = Audit(BundleOfFiles({}), BundleOfFiles({}));
  EXPECT_EQ(VerdictOf(healthy, "data.sharding.disjoint"), v1::VERDICT_PASS);
  const v1::Report spawned =
      Audit(BundleOfFiles({}), BundleOfFiles({{"corpus.py", absl::StrCat("import subprocess\n", kCorpus)}}));
  EXPECT_EQ(VerdictOf(spawned, "data.sharding.disjoint"), v1::VERDICT_NOT_PERFORMED);
  // A stated number counts, whatever the script could do.
  const v1::Report stated = Audit(BundleOfFiles({}, "world_size: 2\n"), BundleOfFiles({}, "world_size: 2\n"));
  EXPECT_EQ(VerdictOf(stated, "data.sharding.disjoint"), v1::VERDICT_NOT_PERFORMED);
}

TEST(OneProcess, TheReasonAgainstItHasAPlace) {
  EXPECT_EQ(WhyNot({{"train.py", absl::StrCat("import torch\n\nimport horovod.torch as hvd\n", kTrain)}}),
            "train.py:3: import horovod.torch");
  EXPECT_EQ(WhyNot({}), "");
}

}  // namespace
}  // namespace paritect
