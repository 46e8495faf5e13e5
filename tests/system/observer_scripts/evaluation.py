import torch
from state_digest import Net, seed, small_data, tell
seed(12)
data = small_data()
train, test = torch.utils.data.random_split(data, [64, 32])
model = Net()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(3):
    model.train()
    for x, y in torch.utils.data.DataLoader(train, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(test, batch_size=10):
            right += int((model(x).argmax(1) == y).sum())
    print("accuracy", right / len(test))
tell(model, optimizer)
