import torch
from state_digest import Net, seed, small_data, tell
seed(3)
loader = torch.utils.data.DataLoader(small_data(), batch_size=16, shuffle=True)
model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x, y in loader:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
tell(model, optimizer)
