import torch
from state_digest import seed, tell
seed(14)
model = torch.nn.Linear(5, 1)
x, y = torch.randn(20, 5), torch.randn(20, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)


def closure():
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for step in range(4):
    print("loss", float(optimizer.step(closure)))
tell(model)
