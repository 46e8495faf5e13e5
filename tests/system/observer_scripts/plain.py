import torch
from state_digest import Net, seed, small_data, tell
seed(1)
loader = torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True, drop_last=True)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=18)
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()
tell(model, optimizer)
