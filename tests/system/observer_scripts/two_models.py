"""Two networks with an optimizer each, and an average of one that is copied from it."""
import copy
import torch
from state_digest import seed, tell
seed(13)
generator = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
judge = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LeakyReLU(), torch.nn.Linear(16, 1))
average = copy.deepcopy(generator)
g = torch.optim.Adam(generator.parameters(), lr=2e-3)
d = torch.optim.Adam(judge.parameters(), lr=2e-3)
loss = torch.nn.BCEWithLogitsLoss()
for step in range(12):
    fake = generator(torch.randn(8, 6))
    d.zero_grad()
    (loss(judge(torch.randn(8, 8)), torch.ones(8, 1)) + loss(judge(fake.detach()), torch.zeros(8, 1))).backward()
    d.step()
    g.zero_grad()
    loss(judge(fake), torch.ones(8, 1)).backward()
    g.step()
    with torch.no_grad():
        for mean, now in zip(average.parameters(), generator.parameters()):
            mean.lerp_(now, 0.1)
average(torch.zeros(1, 6))
tell(generator, judge, average, g, d)
