import torch
from state_digest import Net, seed, small_data, tell
seed(6)
loader = torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True, num_workers=1, persistent_workers=True,
                                     generator=torch.Generator().manual_seed(11))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
tell(model, optimizer)
