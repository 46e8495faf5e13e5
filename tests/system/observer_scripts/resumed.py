import os
import tempfile
import torch
from state_digest import Net, seed, small_data, tell


def life(path, epochs):
    seed(9)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    first = 0
    if os.path.exists(path):
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        schedule.load_state_dict(state["schedule"])
        torch.set_rng_state(state["rng"])
        first = state["epoch"] + 1
    for epoch in range(first, epochs):
        for x, y in torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        schedule.step()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
                    "rng": torch.get_rng_state(), "epoch": epoch}, path)
    tell(model, optimizer)


with tempfile.TemporaryDirectory() as folder:
    life(os.path.join(folder, "last.pt"), 1)
    life(os.path.join(folder, "last.pt"), 3)
