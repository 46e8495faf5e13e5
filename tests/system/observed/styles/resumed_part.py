"""Goes on from a checkpoint of its own and evaluates along the way. Fault "evaluation_cut": the evaluation drops its last,
smaller batch."""
import io
import sys
import time

import torch
from state_digest import Net, seed, small_data, tell

FAULT = "evaluation_cut" in sys.argv


def epoch_of(model, optimizer, loader):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        time.sleep(0.02)


def rate(model, loader):
    model.eval()
    with torch.no_grad():
        right = [(model(x).argmax(-1) == y).sum() for x, y in loader]
    return int(sum(right))


def fresh():
    model = Net()
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)


seed(12)
training = torch.utils.data.DataLoader(small_data(96), batch_size=8, shuffle=True)
evaluation = torch.utils.data.DataLoader(small_data(36), batch_size=8, drop_last=FAULT)
model, optimizer = fresh()
kept = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, kept)
kept.seek(0)
model, optimizer = fresh()
state = torch.load(kept)
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
for epoch in range(2):
    epoch_of(model, optimizer, training)
    print("right", rate(model, evaluation))
tell(model, optimizer)
