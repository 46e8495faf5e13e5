"""Things that a careless observer trips over: attributes that raise, sparse and complex and empty tensors, whole
models in pickles, copies, scripts, traces, fork inside the training."""
import copy
import io
import os
import pickle
import torch
import torch.fx
from state_digest import Net, seed, small_data, tell


class Touchy(torch.utils.data.Dataset):
    def __getattr__(self, name):
        raise AttributeError(name) if name == "__getitems__" else RuntimeError("hands off " + name)

    def __repr__(self):
        raise RuntimeError("no text")

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.full((12,), float(i)), torch.tensor(i % 4), torch.zeros(0), torch.tensor([1j * i])


class Mixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(24, 12, sparse=True)
        self.net = Net()
        self.empty = torch.nn.Parameter(torch.zeros(0))
        self.wave = torch.nn.Parameter(torch.zeros(3, dtype=torch.complex64))

    def forward(self, x, index):
        return self.net(x + self.table(index)) + self.wave.abs().sum() + self.empty.sum()


seed(15)
model = Mixed()
dense = torch.optim.SGD(model.net.parameters(), lr=0.1)
sparse = torch.optim.SparseAdam(list(model.table.parameters()))
for x, y, nothing, wave in torch.utils.data.DataLoader(Touchy(), batch_size=6):
    dense.zero_grad()
    sparse.zero_grad()
    torch.nn.functional.cross_entropy(model(x, y), y).backward()
    dense.step()
    sparse.step()
child = os.fork()
if child == 0:
    model(torch.zeros(2, 12), torch.tensor([0, 1])).sum().backward()
    os._exit(0)
os.waitpid(child, 0)
whole = pickle.dumps(model)
print("pickle holds", b"paritect" in whole)
twin = pickle.loads(whole)
buffer = io.BytesIO()
torch.save(copy.deepcopy(model), buffer)
print("saved", b"paritect" in buffer.getvalue())
net = Net().eval()
traced = torch.jit.trace(net, torch.ones(2, 12))
scripted = torch.jit.script(net)
print("same", bool((traced(torch.ones(2, 12)) == scripted(torch.ones(2, 12))).all()))
called = Net().eval()
expected = called(torch.ones(2, 12))
for other in (torch.jit.script(called), torch.jit.trace(called, torch.ones(2, 12)), torch.fx.symbolic_trace(called)):
    print("after a call", bool((other(torch.ones(2, 12)) == expected).all()))
print("kinds", isinstance(model, torch.nn.Module), type(dense).step.__name__, type(model).__mro__[1].__name__)
pickle.dumps(torch.optim.SGD), pickle.dumps(torch.nn.utils.clip_grad_norm_), pickle.dumps(torch.save)
tell(model, twin, dense)
